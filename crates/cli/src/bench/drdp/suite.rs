//! The programs of the DRDP paper's section 5, their inputs and the paper's figures.

use finishline_engine::timing::Traversal;

/// One of the seven benchmarks.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    /// The arguments, by size.
    arguments: [&'static [i64]; 3],
    /// [DRDP Table 2] Seconds without checks and with them, gigabytes likewise.
    pub(crate) paper: Paper,
    /// [DRDP Table 3] If the program is in it: the arguments, by size, and the paper's averages of
    /// visited tasks, in the order of [`Traversal::ALL`].
    pub(crate) traversals: Option<([&'static [i64]; 3], [f64; 4])>,
}

#[derive(Clone, Copy)]
pub(crate) struct Paper {
    seconds: [f64; 2],
    gigabytes: [f64; 2],
}

impl Paper {
    pub(crate) fn slowdown(&self) -> f64 {
        self.seconds[1] / self.seconds[0]
    }

    pub(crate) fn memory_ratio(&self) -> f64 {
        self.gigabytes[1] / self.gigabytes[0]
    }
}

/// How big the input is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// For every detector, also the slow ones. A run ends before its time means anything.
    Small = 0,
    /// A run takes about a tenth of a second.
    Medium = 1,
    Paper = 2,
}

impl Size {
    pub(crate) const ALL: [(&'static str, Size); 3] = [
        ("small", Size::Small),
        ("medium", Size::Medium),
        ("paper", Size::Paper),
    ];

    pub(crate) fn word(self) -> &'static str {
        Size::ALL[self as usize].0
    }
}

impl Benchmark {
    pub(crate) fn arguments(&self, size: Size) -> &'static [i64] {
        self.arguments[size as usize]
    }

    /// The arguments of the comparison of traversals.
    pub(crate) fn traversal_arguments(&self, size: Size) -> Option<&'static [i64]> {
        self.traversals
            .map(|(arguments, _)| arguments[size as usize])
    }
}

/// The words for traversals on the command line, in the order of [`Traversal::ALL`].
pub(crate) const TRAVERSALS: [&str; 4] = ["dfs-back", "dfs-front", "bfs-back", "bfs-front"];

pub(crate) fn traversal_word(traversal: Traversal) -> &'static str {
    let mut all = Traversal::ALL.iter().zip(TRAVERSALS);
    all.find(|(known, _)| **known == traversal)
        .map_or("?", |(_, word)| word)
}

pub(crate) fn traversal(word: &str) -> Option<Traversal> {
    let mut all = Traversal::ALL.iter().zip(TRAVERSALS);
    all.find(|(_, known)| *known == word)
        .map(|(traversal, _)| *traversal)
}

/// A program of programs/drdp.
macro_rules! benchmark {
    (
        $name:ident: $small:expr, $medium:expr, $paper:expr;
        $seconds:expr, $gigabytes:expr; $traversals:expr
    ) => {
        Benchmark {
            name: stringify!($name),
            source: include_str!(concat!(
                "../../../programs/drdp/",
                stringify!($name),
                ".fin"
            )),
            arguments: [&$small, &$medium, &$paper],
            paper: Paper {
                seconds: $seconds,
                gigabytes: $gigabytes,
            },
            traversals: $traversals,
        }
    };
}

/// The programs in the order of the paper's Table 2.
pub(crate) static SUITE: [Benchmark; 7] = [
    benchmark!(health: [3, 3, 20], [4, 10, 300], [4, 10, 2030];
        [1.51, 31.99], [0.45, 11.64]; None),
    benchmark!(knapsack: [10], [36], [40]; [1.61, 8.00], [0.38, 4.40]; None),
    benchmark!(matmul: [8, 2], [512, 64], [2048, 64]; [2.52, 51.84], [0.06, 13.44]; None),
    benchmark!(sort: [200, 8], [1_000_000, 2048], [10_000_000, 2048];
        [0.99, 40.95], [0.18, 4.91]; None),
    benchmark!(strassen: [8, 2], [512, 64], [2048, 64]; [1.37, 39.97], [0.20, 26.12];
        Some(([&[16, 2], &[128, 8], &[512, 16]], [1.43, 11.04, 1.00, 1.13]))),
    benchmark!(sparselu: [6, 2], [48, 16], [128, 32]; [2.46, 69.01], [0.04, 16.70];
        Some(([&[8, 2], &[16, 8], &[32, 8]], [8.85, 65.72, 1.07, 6.08]))),
    benchmark!(poisson: [6, 2, 3], [2048, 64, 3], [8192, 128, 3]; [1.56, 71.92], [0.80, 20.09];
        Some(([&[12, 2, 3], &[512, 32, 3], &[2048, 128, 3]], [9.54, 9.54, 2.84, 2.84]))),
];

pub(crate) fn find(name: &str) -> Option<&'static Benchmark> {
    SUITE.iter().find(|benchmark| benchmark.name == name)
}

pub(crate) fn names() -> String {
    SUITE.each_ref().map(|benchmark| benchmark.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::arithmetic::geometric_mean;

    #[test]
    fn the_slowdowns_of_the_paper_have_the_mean_and_the_range_of_the_paper() {
        let slowdowns = SUITE.each_ref().map(|one| one.paper.slowdown());
        assert!((geometric_mean(&slowdowns) - 23.0).abs() < 0.1);
        let [least, greatest] =
            [f64::min, f64::max].map(|which| slowdowns.into_iter().reduce(which).expect("seven"));
        assert!((least - 5.0).abs() < 0.05 && (greatest - 46.1).abs() < 0.05);
        let ratios = SUITE.each_ref().map(|one| one.paper.memory_ratio());
        assert!(
            ratios
                .into_iter()
                .all(|ratio| (11.5..418.5).contains(&ratio))
        );
    }

    #[test]
    fn traversals_are_known_by_their_words() {
        for word in TRAVERSALS {
            let known = traversal(word).expect("a traversal");
            assert_eq!(traversal_word(known), word);
            assert_eq!(known.depth_first, word.starts_with("dfs"));
            assert_eq!(known.from_front, word.ends_with("front"));
        }
    }
}
