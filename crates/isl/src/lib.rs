//! isl, the library of integer sets that the prover computes with.
//!
//! This is the crate `isl-rs`, its bindings and the C sources that come with it, with another
//! build. The build of `isl-rs` runs autoconf, automake, libtool and make. The build here,
//! `build.rs`, needs a C compiler only, and has isl keep small numbers without an allocation. The
//! repository holds neither the bindings nor isl: `upstream.rs` says where they come from.

#[allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)]
mod upstream {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}

pub use upstream::bindings::*;
