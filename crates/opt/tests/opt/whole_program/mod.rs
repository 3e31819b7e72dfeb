//! The passes over the whole program: which accesses lose their checks, line by line, and that no
//! racing location changes.
//!
//! The end of a line says which of its shared accesses must be without a check: `// all`, the
//! `// reads`, or none. The expectations are the definitions of the passes, not what they printed.

mod call_graphs;
mod contexts;
mod heap;
mod random;
mod read_only;
mod task_local;

use crate::common::compile;
use crate::common::races::Checked;
use finishline_ir::verify::verify;
use finishline_ir::{Module, Op};
use finishline_model::{AccessId, AccessKind, Pass, Passes};
use finishline_opt::reduce;
use std::collections::BTreeSet;

fn passes(passes: &[Pass]) -> Passes {
    passes.iter().copied().collect()
}

/// The accesses that are checked somewhere.
fn checked(module: &Module) -> BTreeSet<AccessId> {
    let blocks = module.functions.iter().flat_map(|f| &f.blocks);
    let instructions = blocks.flat_map(|block| &block.instructions);
    instructions
        .filter_map(|instruction| match instruction.op {
            Op::Check { access, .. } => Some(access),
            _ => None,
        })
        .collect()
}

/// That the passes remove what the ends of the lines say, and nothing that matters.
#[track_caller]
fn holds(passes: Passes, source: &str) {
    let module = compile(source);
    let after = reduce(&module, passes);
    verify(&after).unwrap_or_else(|violations| panic!("{}\n{after}", violations[0]));
    let checked = checked(&after);
    let lines: Vec<&str> = source.lines().collect();
    let mut wrong = Vec::new();
    for (index, access) in module.source.accesses.iter().enumerate() {
        let id = AccessId::from_index(index);
        let line = lines[module.source.sites[access.site.index()].line as usize - 1];
        let removed = match line.rsplit_once("// ").map(|(_, word)| word) {
            Some("all") => true,
            Some("reads") => access.kind == AccessKind::Read,
            Some(word) => panic!("what does {word} mean?"),
            None => false,
        };
        if checked.contains(&id) == removed {
            let found = if removed {
                "is checked"
            } else {
                "is not checked"
            };
            wrong.push(format!("{} {found}: {line}", access.kind.word()));
        }
    }
    assert!(wrong.is_empty(), "{}\n{after}", wrong.join("\n"));
    let run = Checked::new(&module, &[], Default::default());
    run.without(passes)
        .unwrap_or_else(|error| panic!("{error}"));
}
