//! Who runs next. Whatever begins threads or makes them wait asks here, and nothing here knows by
//! which library it does so.

#[allow(unsafe_code)]
mod baton;
#[allow(unsafe_code)]
mod interruptions;
#[allow(unsafe_code)]
mod locked;

pub(crate) use baton::{For, begin, create, end, give_way, spins_for_ever, wait, wakes};
pub(crate) use interruptions::{Begin, before_end, before_operation, before_wait, offer, withdraw};
