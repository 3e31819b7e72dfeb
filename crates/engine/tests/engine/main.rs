//! The tests of the executors. They are one binary: each one links the compiler, which takes longer
//! than running most of them.

mod all_schedules;
#[path = "../../../ir/tests/ir/builder.rs"]
mod builder;
mod common;
mod compare;
mod compiled;
mod compiled_edges;
mod compiled_promises;
mod confirm;
#[path = "../../../trace/tests/trace/damage.rs"]
mod damage;
mod deadlocks;
mod depth_first;
mod explore;
mod graphs;
mod interleavings;
mod language;
mod lock_programs;
mod matrix;
mod memory;
mod parallel_objects;
mod parallel_runs;
mod promise_cases;
mod promise_programs;
mod promises;
mod random_programs;
mod random_schedules;
mod ranges;
mod reports;
mod timing;
mod traces;
