//! Read-only check elimination: a read loses its check if nobody writes to what it reads while
//! another task may be live, in the same region.

use super::{holds, passes};
use crate::common::compile;
use crate::common::races::Checked;
use finishline_ir::Op;
use finishline_ir::machine::Datum;
use finishline_ir::verify::verify;
use finishline_model::Pass;

#[track_caller]
fn read_only(source: &str) {
    holds(passes(&[Pass::ReadOnly]), source);
}

#[test]
fn written_before_and_behind() {
    read_only(
        "fn main() {
    let a = new int[4];
    let b = new int[4];
    a[0] = 1;
    forall i in 0..4 {
        b[i] = a[i]; // reads
    }
    a[0] = b[1];
}",
    );
}

#[test]
fn a_write_by_another_task_or_by_main() {
    read_only(
        "fn main() {
    let a = new int[4];
    let b = new int[4];
    let c = new int[4];
    finish {
        async {
            b[0] = a[0] + c[0];
        }
        async a[1] = 1;
        c[0] = 2;
    }
}",
    );
}

#[test]
fn a_write_in_a_called_function() {
    read_only(
        "fn set(a: int[]) { a[0] = 1; }
fn pass_on(a: int[]) { set(a); }
fn set_before(a: int[]) { a[0] = 1; }
fn main() {
    let a = new int[4];
    let b = new int[4];
    let c = new int[4];
    set_before(b);
    finish {
        async c[0] = a[0];
        async c[1] = b[0]; // reads
        pass_on(a);
    }
}",
    );
}

#[test]
fn fields_are_apart_and_elements_are_not() {
    read_only(
        "struct Pair { x: int, y: int }
fn main() {
    let p = new Pair();
    let a = new int[2];
    finish {
        async p.x = p.y; // reads
        async p.x = p.x;
        async a[0] = a[1];
    }
}",
    );
}

#[test]
fn objects_of_one_allocation_are_not_told_apart() {
    read_only(
        "struct Pair { x: int, y: int }
fn make(): Pair { return new Pair(); }
fn main() {
    let p = make();
    let q = make();
    let r = new Pair();
    finish {
        async p.x = 1;
        async {
            print(q.x);
            print(r.x); // reads
        }
    }
}",
    );
}

#[test]
fn an_alias_in_a_field() {
    read_only(
        "struct Box { inner: int[], other: int[] }
fn main() {
    let a = new int[2];
    let b = new int[2];
    let box = new Box();
    box.inner = a;
    box.other = b;
    finish {
        async {
            let c = box.inner; // reads
            c[0] = 1;
        }
        async print(a[0]);
        async print(b[0]); // reads
    }
}",
    );
}

#[test]
fn an_alias_stored_by_a_called_function() {
    read_only(
        "struct Box { inner: int[] }
fn put(box: Box, a: int[]) { box.inner = a; }
fn take(box: Box): int[] { return box.inner; } // reads
fn main() {
    let a = new int[2];
    let box = new Box();
    put(box, a);
    finish {
        async take(box)[0] = 1;
        async print(a[0]);
    }
}",
    );
}

#[test]
fn arrays_of_arrays() {
    read_only(
        "fn main() {
    let rows = new int[2][];
    let a = new int[2];
    let other = new int[2];
    rows[0] = a;
    rows[1] = new int[2];
    finish {
        async rows[1][0] = 1; // reads
        async print(a[0]);
        async print(other[0]); // reads
        async {
            let row = rows[1]; // reads
            print(row[1]);
        }
    }
}",
    );
}

#[test]
fn lists() {
    read_only(
        "struct Node { next: Node, value: int }
fn last(n: Node): Node {
    var at = n;
    while at.next != null { // reads
        at = at.next; // reads
    }
    return at;
}
fn main() {
    var list: Node = null;
    for i in 0..3 {
        let node = new Node();
        node.next = list;
        list = node;
    }
    let first = list;
    finish {
        async last(first).value = 1;
        async print(first.value);
        async print(first.next == null); // reads
    }
}",
    );
}

#[test]
fn globals() {
    read_only(
        "var g: int = 1;
var h: int = 2;
var a: int[];
fn main() {
    a = new int[2];
    let mine = a;
    finish {
        async h = g; // reads
        async {
            let same = a; // reads
            same[0] = h;
        }
        async print(mine[0]);
    }
}",
    );
}

#[test]
fn a_reference_chosen_at_run_time() {
    read_only(
        "fn main() {
    let a = new int[2];
    let b = new int[2];
    let c = new int[2];
    finish {
        for i in 0..2 {
            let chosen = i == 0 ? a : b;
            async chosen[i] = c[i]; // reads
        }
        async print(a[0]);
        async print(b[0]);
    }
}",
    );
}

#[test]
fn a_region_is_not_disturbed_by_another() {
    read_only(
        "fn main() {
    let a = new int[4];
    let b = new int[4];
    for round in 0..2 {
        forall i in 0..4 {
            b[i] = a[i]; // reads
        }
        forall i in 0..4 {
            a[i] = b[i]; // reads
        }
    }
}",
    );
}

#[test]
fn a_finish_beside_a_live_task_is_no_region() {
    read_only(
        "fn main() {
    let a = new int[4];
    let b = new int[4];
    finish {
        async print(b[0]);
        finish { async b[1] = a[0]; }
        finish { async a[1] = b[2]; }
    }
}",
    );
    // But each of these is, in whatever else it lies.
    read_only(
        "fn main() {
    let a = new int[4];
    let b = new int[4];
    finish {
        finish { async b[1] = a[0]; } // reads
        finish { async a[1] = b[2]; } // reads
        async print(a[3]); // reads
    }
}",
    );
    // In a loop, the task of the iteration before.
    read_only(
        "fn main() {
    let a = new int[4];
    finish {
        for i in 0..2 {
            finish { async print(a[0]); }
            async a[1] = 1;
        }
    }
}",
    );
}

#[test]
fn an_async_outside_every_finish_runs_beside_all_that_follows() {
    read_only(
        "fn main() {
    let a = new int[4];
    let b = new int[4];
    finish { async print(a[0]); } // reads
    async print(a[1], b[1]);
    finish { async a[2] = 1; }
    b[0] = 1;
}",
    );
}

#[test]
fn tasks_that_a_function_leaves() {
    read_only(
        "fn reader(a: int[]) { async print(a[0]); }
fn joined(a: int[]) { finish { async print(a[0]); } } // reads
fn main() {
    let a = new int[4];
    let b = new int[4];
    finish {
        reader(a);
        a[1] = 1;
    }
    joined(b);
    b[1] = 1;
    joined(b);
}",
    );
    // A finish in a function that is called beside a live task is none for its caller.
    read_only(
        "fn joined(a: int[]) { finish { async print(a[0]); } }
fn main() {
    let a = new int[4];
    finish {
        async a[1] = 1;
        joined(a);
    }
    joined(a);
}",
    );
}

#[test]
fn a_function_in_several_regions() {
    read_only(
        "fn get(a: int[]): int { return a[0]; }
fn main() {
    let a = new int[4];
    let b = new int[4];
    finish {
        async print(get(a));
        async b[1] = b[2];
    }
    finish {
        async print(get(b));
        async a[1] = 2;
    }
}",
    );
}

#[test]
fn recursion() {
    read_only(
        "fn walk(a: int[], b: int[], n: int) {
    if n > 0 {
        async walk(a, b, n - 1);
        b[n] = a[n]; // reads
    }
}
fn main() {
    let a = new int[4];
    let b = new int[4];
    finish { walk(a, b, 3); }
}",
    );
    // Exchanged on the way down.
    read_only(
        "fn walk(a: int[], b: int[], n: int) {
    if n > 0 {
        async walk(b, a, n - 1);
        b[n] = a[n];
    }
}
fn main() {
    let a = new int[4];
    let b = new int[4];
    finish { walk(a, b, 3); }
}",
    );
}

#[test]
fn a_dynamic_finish_leaves_one_region() {
    read_only(
        "fn main() {
    let a = new int[4];
    let b = new int[4];
    begin_finish;
    async b[0] = a[0];
    end_finish;
    finish { async a[0] = 1; }
    finish { async print(a[1]); }
}",
    );
}

#[test]
fn an_isolated_write_is_a_write() {
    read_only(
        "var sum = 0;
var scale = 2;
fn main() {
    finish {
        async isolated {
            let by = scale; // reads
            sum += by;
        }
        async print(sum);
    }
}",
    );
}

#[test]
fn spawned_results() {
    read_only(
        "fn f(): int { return 1; }
fn g(a: int[]): int { return a[0]; }
fn h(a: int[]): int { return a[0]; } // reads
fn main() {
    let a = new int[2];
    let b = new int[2];
    let c = new int[2];
    a[0] = spawn f();
    b[0] = spawn g(a);
    b[1] = spawn h(c);
    sync;
}",
    );
}

/// Code that never runs is not looked at, neither for its writes nor for its reads.
#[test]
fn what_nobody_calls() {
    read_only(
        "var g = 0;
fn unused() { g = 1; print(g); }
fn main() {
    finish {
        async print(g); // reads
    }
}",
    );
}

/// Writes to what one task alone can reach don't count if the other pass is made too.
#[test]
fn a_function_reads_what_is_local_and_what_nobody_writes() {
    let source = "struct V { x: int }
fn get(v: V): int { return v.x; }
fn main() {
    let fixed = new V();
    fixed.x = 1;
    finish {
        for i in 0..2 {
            async {
                let mine = new V();
                mine.x = i;
                print(get(mine) + get(fixed));
            }
        }
    }
}";
    read_only(source);
    let with_both = source
        .replace("{ return v.x; }", "{ return v.x; } // reads")
        .replace("mine.x = i;", "mine.x = i; // all");
    holds(passes(&[Pass::ReadOnly, Pass::TaskLocal]), &with_both);
}

/// One end for two beginnings, as a pass might make it: which finish is open there can't be said.
#[test]
fn control_that_comes_from_two_finishes() {
    let mut module = compile(
        "fn main(some: bool) {
    let a = new int[1];
    if some {
        finish { async a[0] = 1; }
    } else {
        finish { print(a[0]); }
    }
    finish { async print(a[0]); }
}",
    );
    let (mut begins, mut ends) = (0, 0);
    for block in &mut module.functions[0].blocks {
        block
            .instructions
            .retain(|instruction| match instruction.op {
                Op::FinishBegin(_) => {
                    begins += 1;
                    begins < 3
                }
                Op::FinishEnd(_) => {
                    ends += 1;
                    ends == 3
                }
                _ => true,
            });
    }
    assert_eq!((begins, ends), (3, 3));
    verify(&module).unwrap_or_else(|violations| panic!("{}\n{module}", violations[0]));
    let arguments = [Datum::Bool(true)];
    let run = Checked::new(&module, &arguments, Default::default());
    assert!(run.races());
    for passes in super::random::subsets() {
        run.without(passes)
            .unwrap_or_else(|error| panic!("{error}"));
    }
}
