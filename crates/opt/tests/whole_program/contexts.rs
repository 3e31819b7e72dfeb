//! Copies of functions, one for each context.
