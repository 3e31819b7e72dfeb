//! The process around the checker: whose the checker is, its life, its files, and what only the
//! process knows.

mod circumstances;
#[allow(unsafe_code)]
mod frames;
#[allow(unsafe_code)]
mod futex;
#[allow(unsafe_code)]
mod image;
#[allow(unsafe_code)]
mod life;
#[allow(unsafe_code)]
mod loan;
#[allow(unsafe_code)]
mod marks;
#[allow(unsafe_code)]
mod memory;
mod output;
#[allow(unsafe_code)]
mod owner;
#[allow(unsafe_code)]
mod recording;

pub(crate) use circumstances::{
    drop_in, is_test, nobody_else_runs, set_division, set_drop_in, unfollowed_thread,
};
pub(crate) use frames::{frame_pointer, place_in, place_of_call};
pub(crate) use futex::{Time, futex_wait, futex_wake};
pub(crate) use image::{executable_bias, own_name, ranges, references, thread_locals_of};
pub(crate) use life::{end_unanswered, start};
pub(crate) use loan::{Lender, as_itself, begins_lender, this_thread, visit};
pub(crate) use marks::{SIGNAL as SIGNAL_OF_MARKS, end as end_marks};
pub(crate) use owner::{
    GLANCE, OWNER, give_up, hand_over, hand_over_to, has_given_up, ignore, ignore_no_more,
    is_checked, take_over, thread_pointer, with_calls, with_checker, with_unowned_checker,
};
