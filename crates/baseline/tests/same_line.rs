//! The Rust and the Fin version of a benchmark print the same line at size small. The line ends in
//! the result at full precision. So it is the same only if the data and the order of the
//! floating-point operations are the same.

use finishline_baseline::{Size, crypt, matmul, series, sor};
use finishline_engine::depth_first::{self, End, Program};
use finishline_ir::machine::{Datum, Limits};
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// The line that the Fin program of this name prints.
fn fin(name: &str, size: Size) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../programs/esp-bags")
        .join(name)
        .with_extension("fin");
    let source = std::fs::read(&path).expect("the program can be read");
    let compiled = finishline_fin::compile(name, &source);
    let module = compiled.unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    let mut printed = Vec::new();
    let outcome = depth_first::run(
        Program {
            module: &module.module,
            arguments: &[Datum::Int(size.argument())],
            limits: Limits::default(),
        },
        &mut (),
        &mut printed,
        &AtomicU64::new(0),
    );
    assert!(
        matches!(outcome.result, End::Finished),
        "{:?}",
        outcome.result
    );
    String::from_utf8(printed).expect("what is printed is text")
}

fn same(name: &str, rust: fn(Size) -> String) {
    assert_eq!(rust(Size::Small) + "\n", fin(name, Size::Small));
}

#[test]
fn crypt_is_the_same() {
    same("crypt", crypt::run);
}

#[test]
fn matmul_is_the_same() {
    same("matmul", matmul::run);
}

#[test]
fn series_is_the_same() {
    same("series", series::run);
}

#[test]
fn sor_is_the_same() {
    same("sor", sor::run);
}
