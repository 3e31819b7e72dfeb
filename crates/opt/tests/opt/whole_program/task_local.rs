//! Escape analysis: an access loses its check if only the task that made the object can reach it.

use super::{holds, passes};
use finishline_model::Pass;

#[track_caller]
fn task_local(source: &str) {
    holds(passes(&[Pass::TaskLocal]), source);
}

#[test]
fn made_and_used_by_one_task() {
    task_local(
        "struct Foo { x: int, y: int }
fn main() {
    let own = new int[2];
    own[0] = 1; // all
    let shared = new int[2];
    finish {
        async {
            let q = new Foo();
            q.x = 1; // all
            q.y += q.x; // all
            let scratch = new int[4];
            scratch[0] = q.y; // all
            shared[0] = 2;
        }
        shared[1] = 3;
        own[1] = 4; // all
    }
}",
    );
}

#[test]
fn captured_by_an_async() {
    task_local(
        "fn main() {
    finish {
        async {
            let a = new int[2];
            a[0] = 1;
            async a[0] = 2;
        }
    }
}",
    );
}

#[test]
fn captured_by_an_async_in_an_async() {
    task_local(
        "fn main() {
    let a = new int[2];
    a[0] = 1;
    finish {
        async async a[0] = 2;
        async {
            let b = new int[2];
            b[0] = 1; // all
        }
    }
}",
    );
}

#[test]
fn passed_to_a_spawned_function() {
    task_local(
        "fn f(a: int[]) { a[0] = 1; }
fn g(a: int[]) { a[0] = 1; } // all
fn main() {
    let a = new int[2];
    spawn f(a);
    a[1] = 2;
    let b = new int[2];
    g(b);
    b[1] = 2; // all
}",
    );
}

#[test]
fn the_place_and_the_result_of_a_spawn() {
    task_local(
        "struct Box { inner: int[] }
fn make(): int[] {
    let made = new int[2];
    made[0] = 1;
    return made;
}
fn main() {
    let box = new Box();
    box.inner = spawn make();
    sync;
    let got = box.inner;
    got[0] = 2;
    let own = new int[2];
    own[0] = 3; // all
}",
    );
    task_local(
        "var g: int[];
fn make(): int[] {
    let made = new int[2];
    made[0] = 1;
    let dropped = new int[2];
    dropped[0] = 1; // all
    return made;
}
fn main() {
    g = spawn make();
}",
    );
}

#[test]
fn stored_in_a_global() {
    task_local(
        "var g: int[];
fn publish(a: int[]) { g = a; }
fn main() {
    finish {
        async {
            let a = new int[2];
            publish(a);
            a[0] = 1;
        }
        async {
            let seen = g;
            if seen != null {
                seen[0] = 2;
            }
        }
    }
}",
    );
}

#[test]
fn stored_in_a_field_of_a_shared_object() {
    task_local(
        "struct Box { inner: Box, x: int }
fn put(into: Box, what: Box) { into.inner = what; }
fn main() {
    let shared = new Box();
    finish {
        async {
            let outer = new Box();
            let inner = new Box();
            outer.inner = inner;
            inner.x = 1;
            put(shared, outer);
        }
        async {
            let unseen = new Box();
            let unseen_too = new Box();
            unseen.inner = unseen_too; // all
            unseen.inner.x = 1; // all
        }
        async print(shared.inner == null);
    }
}",
    );
}

/// The store comes after the accesses, in another branch, and into an object that is shared only
/// later.
#[test]
fn the_order_of_stores_plays_no_role() {
    task_local(
        "struct Box { inner: Box, x: int }
fn main() {
    let first = new Box();
    let second = new Box();
    second.x = 1;
    first.inner = second;
    finish {
        async print(first.x);
    }
}",
    );
}

#[test]
fn an_element_of_a_shared_array() {
    task_local(
        "fn main() {
    let rows = new int[2][];
    forall i in 0..2 {
        let row = new int[3];
        row[0] = i;
        rows[i] = row;
        let scratch = new int[3];
        let first = row[0];
        scratch[0] = first; // all
    }
}",
    );
}

/// What is loaded from a shared object is no more local than what was stored there.
#[test]
fn what_holds_a_shared_object_may_be_local() {
    task_local(
        "struct Box { inner: int[] }
fn main() {
    let a = new int[2];
    finish {
        async {
            let box = new Box();
            box.inner = a; // all
            let got = box.inner; // all
            got[0] = 1;
        }
        async a[1] = 1;
    }
}",
    );
}

#[test]
fn one_allocation_is_one_object() {
    task_local(
        "fn make(): int[] { return new int[2]; }
fn main() {
    let shared = make();
    finish {
        async {
            let own = make();
            own[0] = 1;
        }
        async shared[0] = 2;
    }
}",
    );
}

#[test]
fn a_function_that_gets_both() {
    task_local(
        "fn set(a: int[]) { a[0] = 1; }
fn main() {
    let shared = new int[2];
    finish {
        async {
            let own = new int[2];
            set(own);
            own[1] = 2; // all
        }
        async set(shared);
    }
}",
    );
}

#[test]
fn returned_from_a_function() {
    task_local(
        "struct Node { next: Node, x: int }
fn build(n: int): Node {
    if n == 0 { return null; }
    let node = new Node();
    node.x = n; // all
    node.next = build(n - 1); // all
    return node;
}
fn sum(n: Node): int {
    return n == null ? 0 : n.x + sum(n.next); // all
}
fn main() {
    let results = new int[3];
    forall i in 0..3 {
        results[i] = sum(build(i));
    }
}",
    );
}

#[test]
fn isolated_blocks_and_globals_are_shared() {
    task_local(
        "var g = 0;
fn main() {
    finish {
        async isolated g += 1;
        async {
            let own = new int[1];
            isolated own[0] = 1; // all
        }
    }
    g = 2;
}",
    );
}
