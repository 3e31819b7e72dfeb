//! The programs of the Zipper paper's Table 3, in its order. They are part of the tool, so it can
//! measure itself anywhere.

/// One of the 27 benchmarks.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    /// The arguments that give as many nodes as the table says.
    pub(crate) arguments: &'static [i64],
    /// [Zipper Table 3, Race] Whether there is a race in the observed order of isolated blocks.
    pub(crate) races: bool,
    /// [Zipper Table 3, CG and Zipper] Milliseconds.
    pub(crate) paper: [f64; 2],
}

/// A program of programs/zipper.
macro_rules! benchmark {
    ($name:ident, $arguments:expr, $races:literal, $paper:expr) => {
        Benchmark {
            name: stringify!($name),
            source: include_str!(concat!(
                "../../../programs/zipper/",
                stringify!($name),
                ".fin"
            )),
            arguments: &$arguments,
            races: $races,
            paper: $paper,
        }
    };
}

pub(crate) static SUITE: [Benchmark; 27] = [
    benchmark!(clumped_access, [], false, [4.0, 14.0]),
    benchmark!(primitive_array_no_race, [], false, [1.0, 12.0]),
    benchmark!(primitive_array_race, [], true, [1.0, 8.0]),
    benchmark!(simple_simple, [], true, [1.0, 14.0]),
    benchmark!(simple_simple_simple2, [], true, [1.0, 7.0]),
    benchmark!(vector_add, [], false, [5.0, 18.0]),
    benchmark!(data_race_isolate_simple, [], true, [10.0, 17.0]),
    benchmark!(double_branch_example, [], false, [1.0, 7.0]),
    benchmark!(data_race_isolate_simple1, [], true, [5.0, 22.0]),
    benchmark!(forall_with_iterable, [], false, [4.0, 11.0]),
    benchmark!(isolated_block_no, [], false, [9.0, 2.0]),
    benchmark!(add, [], false, [18.0, 28.0]),
    benchmark!(prime_num_counter, [6], false, [34.0, 22.0]),
    benchmark!(prime_num_counter_for_all, [7], false, [39.0, 44.0]),
    benchmark!(scalar_multiply, [], false, [37.0, 41.0]),
    benchmark!(two_dim_arrays, [], false, [22.0, 40.0]),
    benchmark!(reciprocal_array_sum_futures, [], false, [32.0, 72.0]),
    benchmark!(integer_counter_isolated, [], false, [774.0, 697.0]),
    benchmark!(prime_num_counter_for_async, [13], false, [138.0, 103.0]),
    benchmark!(antidep1_var_yes, [20], true, [1271.0, 54.0]),
    benchmark!(antidep2_orig_yes, [], true, [1234.0, 58.0]),
    benchmark!(reciprocal_array_sum, [], false, [1801.0, 51.0]),
    benchmark!(pipeline_with_futures, [], false, [61.0, 53.0]),
    benchmark!(do_all1_orig_no, [], false, [650.0, 372.0]),
    benchmark!(do_all2_orig_no, [], false, [47287.0, 49534.0]),
    benchmark!(antidep1_orig_yes, [1000], true, [247736.0, 58215.0]),
    benchmark!(antidep2_var_yes, [20, 50], true, [246561.0, 7003.0]),
];

pub(crate) fn find(name: &str) -> Option<&'static Benchmark> {
    SUITE.iter().find(|benchmark| benchmark.name == name)
}

/// All names, for messages.
pub(crate) fn names() -> String {
    SUITE.each_ref().map(|benchmark| benchmark.name).join(", ")
}
