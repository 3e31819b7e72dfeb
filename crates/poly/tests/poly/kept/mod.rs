//! Programs on which the prover once was wrong, or would be without a rule that random programs
//! seldom need, made small, with what is right by the definition.
//!
//! The generator of `random_programs` need not come across them again.

mod calls;
mod control;
mod corners;
mod references;
mod remarks;
mod values;

use finishline_answer::Verdict;
use finishline_poly::{Budget, Detail, Families, Options, families, prove};
use std::collections::BTreeSet;
use std::time::Duration;

const OPTIONS: Options = Options {
    budget: Budget::Time(Duration::from_secs(600)),
    detail: Detail::Races,
};

/// A program and what is known of its instances.
struct Kept {
    program: finishline_fin::hir::Program,
    families: Families,
}

fn kept(text: &str) -> Kept {
    let program = finishline_fin::analyse("kept.fin", text.as_bytes());
    let Ok(program) = program else {
        panic!("it is refused: {text}");
    };
    let families = families(&program).expect("no time limit");
    Kept { program, families }
}

impl Kept {
    fn verdict(&self) -> Verdict {
        prove(&self.program, &OPTIONS).proof.verdict
    }

    /// The lines and counters of the pairs that surely race.
    fn races(&self, arguments: &[i64]) -> BTreeSet<[(u32, Vec<i64>); 2]> {
        let races = self.families.races(arguments).expect("finitely many");
        let place = |instance: finishline_poly::Instance| {
            let info = self.program.source.access(instance.access);
            let line = self.program.source.site(info.place).line;
            (line, instance.counters)
        };
        let pairs = races.into_iter();
        pairs
            .map(|(one, other)| [place(one), place(other)])
            .collect()
    }
}
