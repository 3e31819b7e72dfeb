//! The programs of the FastRacer paper's section 5 and their racy twins, and the paper's figures.
//! They are part of the tool, so it can measure itself anywhere.

use finishline_ir::Module;
use finishline_model::Detector;

/// One of the twelve benchmarks, or a racy twin.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// [FastRacer Table 1] The memory in gigabytes: unmodified, then as in [`DETECTORS`].
    Clean([Option<f64>; 5]),
    /// [FastRacer Table 2] The number of races, on the paper's input.
    Racy(u64),
}

/// The detectors of the paper's Table 1, by our names, with the mean slowdown of section 5.2. Its
/// mean for FastTrack is over the four programs that did not run out of memory.
const DETECTORS: [(&str, f64); 4] = [
    ("fasttrack", 50.26),
    ("c-racer", 10.66),
    ("ptracer", 7.70),
    ("fastracer", 6.41),
];

/// The paper's mean slowdown of a detector, if it has one.
pub(super) fn paper_slowdown(detector: Detector) -> Option<f64> {
    let mut all = DETECTORS.into_iter();
    all.find(|(name, _)| *name == detector.name())
        .map(|(_, slowdown)| slowdown)
}

impl Benchmark {
    /// The memory under a detector over that without checks, in the paper.
    pub(super) fn paper_memory_ratio(&self, detector: Detector) -> Option<f64> {
        let Kind::Clean([unmodified, checked @ ..]) = &self.kind else {
            return None;
        };
        let mut all = DETECTORS.iter().zip(checked);
        let (_, checked) = all.find(|((name, _), _)| *name == detector.name())?;
        Some((*checked)? / (*unmodified)?)
    }

    pub(super) fn compile(&self) -> Result<Module, String> {
        let file = format!("{}.fin", self.name);
        let program = finishline_fin::compile(&file, self.source.as_bytes());
        Ok(program.map_err(|errors| errors.render(false))?.module)
    }
}

/// A program of programs/fastracer.
macro_rules! benchmark {
    ($name:ident, $kind:expr) => {
        Benchmark {
            name: stringify!($name),
            source: include_str!(concat!(
                "../../../programs/fastracer/",
                stringify!($name),
                ".fin"
            )),
            kind: $kind,
        }
    };
}

/// All five figures of Table 1.
const fn memory(all: [f64; 5]) -> Kind {
    let [unmodified, fasttrack, c_racer, ptracer, fastracer] = all;
    Kind::Clean([
        Some(unmodified),
        Some(fasttrack),
        Some(c_racer),
        Some(ptracer),
        Some(fastracer),
    ])
}

/// The figures of Table 1 without that of FastTrack, which ran out of memory.
const fn without_fasttrack(others: [f64; 4]) -> Kind {
    let [unmodified, c_racer, ptracer, fastracer] = others;
    Kind::Clean([
        Some(unmodified),
        None,
        Some(c_racer),
        Some(ptracer),
        Some(fastracer),
    ])
}

/// The programs in the order of the paper's Table 1, then the twins.
pub(crate) static SUITE: [Benchmark; 17] = [
    benchmark!(blackscholes, memory([0.62, 9.64, 10.38, 54.78, 48.03])),
    benchmark!(fluidanimate, memory([0.51, 69.93, 0.58, 9.17, 2.04])),
    benchmark!(streamcluster, without_fasttrack([0.84, 1.17, 22.76, 6.91])),
    benchmark!(swaptions, without_fasttrack([0.19, 0.98, 17.34, 3.87])),
    benchmark!(convexhull, without_fasttrack([1.69, 2.97, 19.94, 12.71])),
    benchmark!(delrefine, without_fasttrack([3.71, 6.25, 125.37, 125.39])),
    benchmark!(deltriang, without_fasttrack([3.63, 8.19, 113.69, 106.77])),
    benchmark!(
        nearestneigh,
        without_fasttrack([2.19, 5.60, 106.86, 125.26])
    ),
    benchmark!(raycast, without_fasttrack([1.28, 4.08, 18.37, 14.35])),
    benchmark!(karatsuba, memory([0.02, 0.86, 0.18, 9.34, 2.81])),
    benchmark!(kmeans, without_fasttrack([0.11, 2.52, 15.82, 5.99])),
    benchmark!(sort, memory([0.15, 18.96, 0.20, 9.87, 2.40])),
    benchmark!(blackscholes_racy, Kind::Racy(21)),
    benchmark!(fluidanimate_racy, Kind::Racy(40)),
    benchmark!(streamcluster_racy, Kind::Racy(80)),
    benchmark!(kmeans_racy, Kind::Racy(75)),
    benchmark!(sort_racy, Kind::Racy(1024)),
];

pub(crate) fn find(name: &str) -> Option<&'static Benchmark> {
    SUITE.iter().find(|benchmark| benchmark.name == name)
}

/// All names, for messages.
pub(crate) fn names() -> String {
    SUITE.each_ref().map(|benchmark| benchmark.name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_the_folder_is_measured() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/fastracer");
        let files = std::fs::read_dir(folder).expect("the folder");
        let names = files.filter_map(|file| {
            let name = file.expect("an entry").file_name();
            Some(name.to_str()?.strip_suffix(".fin")?.to_owned())
        });
        let names: Vec<String> = names.collect();
        assert_eq!(names.len(), SUITE.len());
        for name in names {
            let benchmark = find(&name).expect(&name);
            let racy = matches!(benchmark.kind, Kind::Racy(_));
            assert_eq!(racy, name.ends_with("_racy"));
        }
    }
}
