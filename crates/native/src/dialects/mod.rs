//! What a library or a language means by its calls, one room each. They share the rooms below, and
//! none knows of another.

#[allow(unsafe_code)]
mod pthreads;
#[allow(unsafe_code)]
mod rayon;
#[allow(unsafe_code)]
pub(crate) mod rust_std;
