//! `--baseline`: only new races fail a run.

use crate::package::{Called, Package, manifest};
use libtest_mimic::Trial;
use std::fs;

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("baseline::new_races_alone_fail", || {
        new_races_alone_fail();
        Ok(())
    })]
}

const SOURCE: &str = "
    static mut TOTAL: u64 = 0;
    fn add() { unsafe { TOTAL += 1 } }
    fn join_and_push() { let mut list: Vec<u64> = Vec::with_capacity(9); let at = &raw mut list as usize;
        let push = || unsafe { (*(at as *mut Vec<u64>)).push(1) }; rayon::join(push, push); }
    #[test] fn adds() { rayon::join(add, add); }
    #[test] fn pushes() { join_and_push() }
    #[test] fn clean() { rayon::join(|| (), || ()); }";

fn new_races_alone_fail() {
    let manifest = manifest("with-baseline", "[dependencies]\nrayon = \"1.12\"\n");
    let package = Package::new(&[("Cargo.toml", &manifest), ("src/lib.rs", SOURCE)]);
    let test = |options: &[&str]| package.finishline(&[&["test"], options].concat());
    test(&["--baseline", "known"]).expect(2);

    // The first run writes the file, and fails as ever.
    test(&["--write-baseline=known", "adds"]).expect(66);
    let race = "race: static with_baseline::TOTAL\n  \
                read in with_baseline::add: fn add() { unsafe { TOTAL += 1 } }\n  \
                write in with_baseline::add: fn add() { unsafe { TOTAL += 1 } }\n";
    let known = package.read("known");
    assert!(known.contains(race), "{known}");
    let called = test(&["--baseline=known", "adds"]).expect(0);
    assert!(
        called.stdout.contains("test adds ... ok\n"),
        "{}",
        called.stdout
    );
    let both = test(&["--baseline=known"]).expect(66);
    for (shown, times) in [
        ("test adds ... ok\n", 1),
        ("test pushes ... RACE\n", 1),
        ("TOTAL", 0),
    ] {
        assert_eq!(both.stdout.matches(shown).count(), times, "{}", both.stdout);
    }

    // Other lines, another order of the halves, and the same races.
    test(&["--baseline=known", "--write-baseline=known"]).expect(66);
    fs::write(package.path("src/lib.rs"), format!("// A line.\n{SOURCE}")).expect("a file");
    let Called { stderr, .. } = test(&["--baseline=known", "--first=right"]).expect(0);
    assert!(!stderr.contains("not found in this run"), "{stderr}");
    let Called { stderr, .. } = test(&["--baseline=known", "clean"]).expect(0);
    assert!(
        stderr.contains("known races were not found in this run"),
        "{stderr}"
    );

    // Another line is another race.
    let changed = SOURCE.replace("TOTAL += 1", "TOTAL += 2");
    fs::write(package.path("src/lib.rs"), changed).expect("a file");
    test(&["--baseline=known", "adds"]).expect(66);
    fs::write(package.path("known"), "TOTAL\n").expect("a file");
    let Called { stderr, .. } = test(&["--baseline=known"]).expect(2);
    assert!(stderr.contains("known:1: a known race is"), "{stderr}");
}
