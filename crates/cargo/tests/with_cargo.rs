//! stub
fn main() -> std::process::ExitCode { finishline_cargo::main() }
