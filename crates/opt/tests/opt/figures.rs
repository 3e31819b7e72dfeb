//! The running example of the static optimisations [ESP-bags Figs. 8 to 13]: the checks that are
//! left after each pass.
//!
//! Each figure adds one pass. A snapshot in `figures/` has the whole IR; here is also what the
//! paper prints, as the calls of the library that a figure has, in order (its `ind` is i here).
//! DIVERGENCE: q.y is never written, so the read-only pass already does without its check, which
//! the paper leaves to escape analysis.

use finishline_ir::{Module, Op};
use finishline_model::{Pass, Passes};
use finishline_opt::reduce;
use std::path::Path;

/// A figure, the pass that it adds, and its checks.
const FIGURES: [(u32, Option<Pass>, &[&str]); 6] = [
    (
        8,
        None,
        &[
            "write p.x", // in sequential code
            "read A[i]",
            "read B[i]",
            "write p.x",
            "read p.x",
            "write q.x",
            "read q.y",
            "write B[j]",
        ],
    ),
    (
        9,
        Some(Pass::Sequential),
        &[
            "read A[i]",
            "read B[i]",
            "write p.x",
            "read p.x",
            "write q.x",
            "read q.y",
            "write B[j]",
        ],
    ),
    (
        10,
        Some(Pass::ReadOnly),
        &[
            "read B[i]",
            "write p.x",
            "read p.x",
            "write q.x",
            "write B[j]",
        ],
    ),
    (
        11,
        Some(Pass::TaskLocal),
        &["read B[i]", "write p.x", "read p.x", "write B[j]"],
    ),
    (
        12,
        Some(Pass::LoopInvariant),
        // Behind its zero-trip test, which comes last in the text.
        &["read B[i]", "write p.x", "write B[j]", "read p.x"],
    ),
    (
        13,
        Some(Pass::Dominated),
        &["read B[i]", "write p.x", "write B[j]"],
    ),
];

/// The checks in the order of the text.
fn checks(module: &Module) -> Vec<String> {
    let blocks = module.functions.iter().flat_map(|f| &f.blocks);
    let instructions = blocks.flat_map(|block| &block.instructions);
    let mut found = Vec::new();
    for instruction in instructions {
        if let Op::Check { access, kind, .. } = instruction.op {
            let snippet = module.source.snippet(module.source.access(access).site);
            let place = snippet.split(" = ").next().unwrap_or_default();
            found.push(format!("{} {place}", kind.word()));
        }
    }
    found
}

#[test]
fn figures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (module, _) =
        crate::common::suite::load(&folder.join("../../programs/esp-bags/figures/fig8.fin"))
            .expect("the program of figure 8");
    let bless = std::env::var_os("FINISHLINE_BLESS").is_some();
    let mut passes = Passes::NONE;
    for (figure, pass, expected) in FIGURES {
        passes = pass.map_or(passes, |pass| passes.with(pass));
        let after = reduce(&module, passes);
        assert_eq!(checks(&after), expected, "figure {figure}\n{after}");
        let path = folder.join(format!("tests/opt/figures/figure{figure}.ir"));
        let text = after.to_string();
        if bless {
            std::fs::write(&path, &text).expect("the snapshot can be written");
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            text,
            "{} has changed. To accept it: FINISHLINE_BLESS=1 \
             cargo test -p finishline-opt --test opt figures::",
            path.display()
        );
    }
}
