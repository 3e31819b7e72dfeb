//! The programs of the ESP-bags paper's Table 3. They are part of the tool, so it can measure
//! itself anywhere.

use finishline_baseline::{Size, crypt, matmul, series, sor};

/// One of the twelve benchmarks.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    /// [ESP-bags Table 3] The slowdown in the paper without the checks of sequential code and with
    /// all others.
    pub(crate) paper_slowdown: f64,
    /// [ESP-bags Table 3] The same with all static optimisations of the paper.
    pub(crate) paper_optimised: f64,
    pub(crate) elements: Elements,
    /// Whether loops, conditions and elements are affine, except for data that decides nothing. The
    /// prover should handle such programs.
    pub(crate) affine: bool,
    /// The same algorithm in Rust, if there is one. It returns the line that the Fin program
    /// prints.
    pub(crate) rust: Option<fn(Size) -> String>,
}

/// The main contents of a program's memory. A detector's cell has 8 bytes for a location of any
/// type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elements {
    Bytes,
    Words,
}

/// A program of programs/esp-bags.
macro_rules! benchmark {
    (
        $name:ident, $paper_slowdown:literal, $paper_optimised:literal, $elements:ident,
        $affine:literal, $rust:expr
    ) => {
        Benchmark {
            name: stringify!($name),
            source: include_str!(concat!(
                "../../programs/esp-bags/",
                stringify!($name),
                ".fin"
            )),
            paper_slowdown: $paper_slowdown,
            paper_optimised: $paper_optimised,
            elements: Elements::$elements,
            affine: $affine,
            rust: $rust,
        }
    };
}

/// The programs in the paper's order.
pub(crate) static SUITE: [Benchmark; 12] = [
    benchmark!(crypt, 7.63, 7.29, Bytes, true, Some(crypt::run)),
    benchmark!(lufact, 12.45, 10.08, Words, true, None),
    benchmark!(moldyn, 10.57, 3.93, Words, false, None),
    benchmark!(montecarlo, 1.99, 1.57, Words, false, None),
    benchmark!(raytracer, 11.89, 9.48, Words, false, None),
    benchmark!(series, 1.01, 1.00, Words, true, Some(series::run)),
    benchmark!(sor, 14.99, 9.05, Words, true, Some(sor::run)),
    benchmark!(sparse, 12.79, 2.73, Words, false, None),
    benchmark!(fannkuch, 1.49, 1.38, Words, false, None),
    benchmark!(fasta, 3.88, 3.73, Bytes, false, None),
    benchmark!(mandelbrot, 1.02, 1.02, Bytes, false, None),
    benchmark!(matmul, 6.43, 1.16, Words, true, Some(matmul::run)),
];

pub(crate) fn find(name: &str) -> Option<&'static Benchmark> {
    SUITE.iter().find(|benchmark| benchmark.name == name)
}

/// The names of some benchmarks, for messages.
pub(crate) fn names(which: impl Fn(&Benchmark) -> bool) -> String {
    let names: Vec<&str> = (SUITE.iter())
        .filter(|benchmark| which(benchmark))
        .map(|benchmark| benchmark.name)
        .collect();
    names.join(", ")
}

/// The words for sizes on the command line.
pub(crate) const SIZES: [(&str, Size); 4] = [
    ("small", Size::Small),
    ("A", Size::A),
    ("B", Size::B),
    ("C", Size::C),
];

pub(crate) fn size_word(size: Size) -> &'static str {
    let found = SIZES.iter().find(|(_, known)| *known == size);
    found.map_or("?", |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::arithmetic::geometric_mean;

    #[test]
    fn the_slowdowns_of_the_paper_have_the_mean_of_the_paper() {
        let slowdowns = SUITE.each_ref().map(|benchmark| benchmark.paper_slowdown);
        // As printed in the paper, to two decimals.
        assert!((geometric_mean(&slowdowns) - 4.86).abs() < 0.005);
        let optimised = SUITE.each_ref().map(|benchmark| benchmark.paper_optimised);
        assert!((geometric_mean(&optimised) - 3.05).abs() < 0.005);
    }
}
