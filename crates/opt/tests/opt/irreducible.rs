//! A cycle with two entries has no header and is no loop for the passes. They must leave it alone.
//!
//! Fin has no `goto`, so no Fin program has such a cycle. The module is stated as text.

use crate::common::{both_forms, same};
use finishline_ir::Module;
use finishline_ir::machine::Limits;
use finishline_ir::text::read;
use finishline_ir::verify::verify;
use finishline_model::{Pass, Passes};
use finishline_opt::for_speed;

const FUEL: u64 = 10_000;

/// Two tasks go through the first elements of an array of eight ints. From an even index they
/// write, from an odd one they read. The cycle of bb1 and bb2 is entered at bb1 or, with no
/// element, at bb2.
const TWO_ENTRIES: &str = "\
uses finish
uses async
main fn1

fn0 t async body(a: ref, n: int) {
bb0(v0: ref, v1: int):
  v2: int = const 0
  v3: int = const 1
  v4: bool = less v2, v1
  branch v4, bb1(v2), bb2(v2)
bb1(v5: int):
  v6: int = index v0[v5]
  check write v0 + v6, acc0
  store v0 + v6, v5, acc0
  v7: int = add v5, v3
  v8: bool = less v7, v1
  branch v8, bb2(v7), bb3
bb2(v9: int):
  v10: int = index v0[v9]
  check read v0 + v10, acc1
  v11: int = load v0 + v10, acc1
  print v11
  v12: int = add v9, v3
  v13: bool = less v12, v1
  branch v13, bb1(v12), bb3
bb3:
  return
}

fn1 main() {
bb0:
  v0: int = const 8
  v1: int = const COUNT
  v2: ref = new int[v0], alloc1
  begin finish
  create async fn0(v2, v1)
  create async fn0(v2, v1)
  end finish
  return
}
";

fn two_entries(count: i64) -> Module {
    let module = read(&TWO_ENTRIES.replace("COUNT", &count.to_string())).expect("a module");
    assert_eq!(verify(&module), Ok(()));
    module
}

#[test]
fn every_pass_keeps_the_racing_locations() {
    // Both tasks write the even elements below the count. With no element, both read the first one.
    for (count, expected) in [(6, 3), (7, 4), (1, 1), (0, 0)] {
        let module = two_entries(count);
        assert_eq!(both_forms::racing(&module, FUEL), Some(expected), "{count}");
        let single = Pass::ALL.map(|pass| Passes::NONE.with(pass));
        for passes in single.into_iter().chain([Passes::ALL]) {
            both_forms::same(&module, passes, FUEL).unwrap();
        }
    }
}

/// With nine elements the cycle fails at the index 8, in the first task.
#[test]
fn a_run_shows_the_same_when_made_faster() {
    for (count, fails) in [(6, false), (0, false), (9, true)] {
        let module = two_entries(count);
        let fast = for_speed(&module, Passes::NONE);
        let runs = same(&module, &fast, &[], Limits::default(), FUEL).unwrap();
        let (before, _) = runs.expect("an end");
        let failed = matches!(before.end, Some(Err(_)));
        assert_eq!(failed, fails, "{count}");
    }
}
