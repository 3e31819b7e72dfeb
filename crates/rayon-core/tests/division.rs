//! The runtime can ask parallel iterators to divide themselves as far as possible. There is one
//! test, because the crate asks once per process, and its limits are those of a process.

mod recorder;

use rayon_core::{current_num_threads, join, join_context, ThreadPoolBuilder};

/// Divides `levels` times, and answers how many levels have migrated.
fn migrated_levels(levels: u32) -> u32 {
    if levels == 0 {
        return 0;
    }
    let inner = |migrated| u32::from(migrated) + migrated_levels(levels - 1);
    let (left, right) = join_context(
        |context| u32::from(context.migrated()),
        |context| inner(context.migrated()),
    );
    assert_eq!(
        left,
        u32::from(right > 0),
        "both halves get the same answer"
    );
    right
}

#[test]
fn halves_migrate_up_to_the_limits() {
    recorder::divide_to_items(6);
    assert_eq!(current_num_threads(), 6);
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        // A join divides nothing, and neither counts nor is counted.
        assert_eq!(join(|| 1, || join(|| 2, || 3)), (1, (2, 3)));
        assert_eq!(recorder::division(), "none");
        assert_eq!(migrated_levels(12), 12);
        assert_eq!(join(|| migrated_levels(12), || ()).0, 12);
        assert_eq!(recorder::division(), "items");
        assert_eq!(migrated_levels(14), 12);
        assert_eq!(recorder::division(), "partly");

        // So far three times twelve.
        for _ in 36..1 << 18 {
            assert_eq!(migrated_levels(1), 1);
        }
        assert_eq!(migrated_levels(1), 0);
    });
    // As in rayon.
    assert_eq!(migrated_levels(1), 1);
}
