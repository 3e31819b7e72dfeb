//! Functions specialised by calling context. An access counts as checked if it is in any copy.

use super::{holds, passes};
use crate::common::compile;
use finishline_ir::{Function, Module, Op};
use finishline_model::{Pass, Passes};
use finishline_opt::reduce;

fn all() -> Passes {
    passes(&[
        Pass::Contexts,
        Pass::Sequential,
        Pass::ReadOnly,
        Pass::TaskLocal,
    ])
}

/// The copies of a function, and the number of checks in each.
fn copies<'a>(module: &'a Module, name: &str) -> Vec<(&'a Function, usize)> {
    let is_it = |function: &&Function| function.name == name;
    let copies = module.functions.iter().filter(is_it);
    let checks = |function: &Function| {
        let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
        instructions
            .filter(|i| matches!(i.op, Op::Check { .. }))
            .count()
    };
    copies
        .map(|function| (function, checks(function)))
        .collect()
}

const EXCHANGED: &str = "fn move(from: int[], to: int[], i: int) {
    to[i] = from[i]; // reads
}
fn main() {
    let a = new int[4];
    let b = new int[4];
    forall i in 0..4 {
        move(a, b, i);
    }
    forall i in 0..4 {
        move(b, a, i);
    }
    move(a, b, 0);
}";

#[test]
fn a_function_in_two_regions_and_in_sequential_code() {
    holds(all(), EXCHANGED);
    // Without copies `from` and `to` are the same arrays.
    let without = EXCHANGED.replace(" // reads", "");
    holds(all().without(Pass::Contexts), &without);
    // The one for sequential code has no check, the one for both regions that of the write.
    let module = reduce(&compile(EXCHANGED), all());
    let checks: Vec<usize> = copies(&module, "move").iter().map(|copy| copy.1).collect();
    assert_eq!(checks, [0, 1], "{module}");
}

#[test]
fn copies_that_are_alike_are_one_function() {
    let source = "var g = 0;
fn deep() { g += 1; }
fn bump() { deep(); }
fn main() {
    bump();
    finish { async bump(); }
    finish { async bump(); }
}";
    let module = compile(source);
    let after = reduce(&module, all());
    for name in ["deep", "bump"] {
        let copies = copies(&after, name);
        assert_eq!(copies.len(), 2, "{after}");
        assert!(copies[1].0.frame == copies[0].0.frame);
    }
    // Where nothing is removed there is nothing to tell apart, also in functions that call each
    // other.
    let all_kept = passes(&[Pass::Contexts, Pass::ReadOnly, Pass::TaskLocal]);
    let after = reduce(&module, all_kept);
    assert_eq!(after.functions.len(), module.functions.len(), "{after}");
    assert_eq!(after.functions, module.functions);
}

#[test]
fn recursion_is_copied_as_a_whole() {
    holds(
        all(),
        "fn fill(a: int[], n: int) {
    if n > 0 {
        a[n] = n;
        fill(a, n - 1);
    }
}
fn even(n: int, a: int[]): int { return n == 0 ? a[0] : odd(n - 1, a); } // all
fn odd(n: int, a: int[]): int { return n == 0 ? a[1] : even(n - 1, a); } // all
fn main() {
    let a = new int[4];
    let b = new int[4];
    fill(a, 3);
    print(even(2, a));
    finish {
        async fill(b, 3);
        async print(even(3, a));
    }
}",
    );
    let module = compile(
        "fn fill(a: int[], n: int) {
    if n > 0 {
        a[n] = n;
        fill(a, n - 1);
    }
}
fn main() {
    let a = new int[4];
    fill(a, 3);
    finish { async fill(a, 3); }
    finish { async fill(a, 3); }
}",
    );
    let module = reduce(&module, all());
    let checks: Vec<usize> = copies(&module, "fill").iter().map(|copy| copy.1).collect();
    assert_eq!(checks.len(), 2, "{module}");
    assert_eq!(checks.iter().sum::<usize>(), 1, "{module}");
}

/// Objects that two copies make are apart.
#[test]
fn allocations_in_copies() {
    holds(
        all(),
        "struct V { x: int }
fn make(x: int): V {
    let v = new V();
    v.x = x; // all
    return v;
}
fn main() {
    let shared = make(1);
    forall i in 0..2 {
        let own = make(i);
        own.x += shared.x; // all
    }
}",
    );
}

#[test]
fn a_function_that_leaves_tasks() {
    holds(
        all(),
        "fn reader(a: int[]) { async print(a[0]); } // reads
fn main() {
    let a = new int[4];
    let b = new int[4];
    finish {
        reader(a);
        b[1] = 1;
    }
    finish {
        reader(b);
        a[1] = 1;
    }
}",
    );
    holds(
        all(),
        "fn reader(a: int[]) { async print(a[0]); }
fn main() {
    let a = new int[4];
    finish {
        reader(a);
        a[1] = 1;
    }
    finish { reader(a); }
}",
    );
}

/// Ten regions, each of which needs another of ten checks: ten copies would be alike in nothing.
#[test]
fn growth_is_bounded() {
    let mut source = String::new();
    let (mut reads, mut regions) = (String::new(), String::new());
    for k in 0..10 {
        source.push_str(&format!("var g{k} = 0;\n"));
        reads.push_str(&format!("print(g{k});\n"));
        regions.push_str(&format!("finish {{\nasync all();\nasync g{k} = 1;\n}}\n"));
    }
    source.push_str(&format!("fn all() {{\n{reads}{reads}{reads}{reads}}}\n"));
    source.push_str(&format!("fn main() {{\n{regions}}}\n"));
    holds(all(), &source);
    let module = compile(&source);
    let size = |module: &Module| {
        let blocks = module.functions.iter().flat_map(|f| &f.blocks);
        blocks.map(|block| block.instructions.len()).sum::<usize>()
    };
    let after = reduce(&module, all());
    let copies = copies(&after, "all").len();
    assert!(copies > 1 && copies < 10, "{copies}");
    assert!(size(&after) <= 3 * size(&module));
}
