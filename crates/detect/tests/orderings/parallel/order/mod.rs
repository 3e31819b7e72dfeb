//! Files of `finishline_detect::parallel::order`. Their tests are here, because the files show what
//! they have to nobody else.

mod joins;
#[path = "../../../../src/parallel/order/learnt.rs"]
mod learnt;
