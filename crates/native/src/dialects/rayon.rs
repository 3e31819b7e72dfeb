//! rayon: the functions that the drop-in for rayon-core calls.
//!
//! The drop-in runs each task at once, on the thread of its creator, and tells where tasks and
//! finishes begin and end. Kinds cross the interface as numbers
//! ([`finishline_model::kinds::rayon`]).

use crate::checker::Checker;
use crate::checker::options::Options;
use crate::facts::structure::{FinishKind, TaskKind};
use crate::process::{self, with_checker};
use finishline_model::kinds::rayon::{self, Division, INTERFACE_VERSION, TO_ITEMS};
use finishline_model::{FinishId, TaskId};
use std::arch::naked_asm;
use std::ffi::c_void;

/// The drop-in is there. Answers the logical number of threads, and whether parallel iterators are
/// to be divided down to single items.
#[unsafe(no_mangle)]
extern "C" fn __finishline_attach(version: u32) -> u32 {
    // A drop-in of another version is remembered even if one of this version follows.
    if process::drop_in().is_none_or(|known| known == INTERFACE_VERSION) {
        process::set_drop_in(version);
    }
    if version != INTERFACE_VERSION {
        eprintln!(
            "finishline: the drop-in for rayon-core speaks version {version} of its interface, and \
             the runtime version {INTERFACE_VERSION}: what is found does not count"
        );
    }
    let answer = |options: &Options| {
        let to_items = if options.to_items { TO_ITEMS } else { 0 };
        options.logical_threads | to_items
    };
    with_checker(|checker| answer(&checker.options)).unwrap_or_else(|| answer(&Options::default()))
}

/// Parallel iterators were divided as finely as this.
#[unsafe(no_mangle)]
extern "C" fn __finishline_divided(division: u32) {
    if let Some(division) = Division::from_number(division) {
        process::set_division(division);
    }
}

#[unsafe(no_mangle)]
extern "C" fn __finishline_right_first() -> u32 {
    with_checker(|checker| u32::from(checker.orders.right_first())).unwrap_or(0)
}

/// Whether the task that is about to be spawned is to run later.
#[unsafe(no_mangle)]
extern "C" fn __finishline_defers() -> u32 {
    with_checker(|checker| u32::from(checker.orders.defers())).unwrap_or(0)
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn __finishline_finish_begin(_kind: u32) -> u64 {
    naked_asm!("mov rsi, [rsp]", "jmp {}", sym begin_finish)
}

extern "C" fn begin_finish(kind: u32, place: u64) -> u64 {
    let Some(kind) = rayon::FinishKind::from_number(kind) else {
        return 0;
    };
    with_checker(|checker| u64::from(checker.begin_finish(FinishKind::Rayon(kind), place).0))
        .unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn __finishline_finish_end(finish: u64) {
    if finish != 0 {
        with_checker(|checker| checker.end_finish(FinishId(finish as u32)));
    }
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn __finishline_task(
    _kind: u32,
    _finish: u64,
    _body: unsafe extern "C" fn(*mut c_void),
    _data: *mut c_void,
) {
    naked_asm!("mov r8, [rsp]", "mov r9, rsp", "jmp {}", sym task)
}

unsafe extern "C" fn task(
    kind: u32,
    finish: u64,
    body: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
    place: u64,
    entry: u64,
) {
    let begun = rayon::TaskKind::from_number(kind).and_then(|kind| {
        let finish = FinishId(finish as u32);
        with_checker(|checker| checker.begin_task(TaskKind::Rayon(kind), finish, place, entry))
    });
    // SAFETY: the drop-in's own function and data; it does not unwind.
    unsafe { body(data) };
    if begun.is_some() {
        with_checker(Checker::end_task);
    }
}

/// Creates a task that runs later. Answers its number, or 0: then it must run at once.
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn __finishline_task_create(_kind: u32, _finish: u64) -> u64 {
    naked_asm!("mov rdx, [rsp]", "jmp {}", sym create_task)
}

extern "C" fn create_task(kind: u32, finish: u64, place: u64) -> u64 {
    let created = rayon::TaskKind::from_number(kind).and_then(|kind| {
        let finish = FinishId(finish as u32);
        with_checker(|checker| checker.create_task(TaskKind::Rayon(kind), finish, place))
    });
    created.map_or(0, |task| u64::from(task.0))
}

#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn __finishline_task_run(
    _task: u64,
    _body: unsafe extern "C" fn(*mut c_void),
    _data: *mut c_void,
) {
    naked_asm!("mov rcx, rsp", "jmp {}", sym run_task)
}

unsafe extern "C" fn run_task(
    task: u64,
    body: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
    entry: u64,
) {
    let begun = with_checker(|checker| checker.run_created(TaskId(task as u32), entry));
    // SAFETY: the drop-in's own function and data; it does not unwind.
    unsafe { body(data) };
    if begun.is_some() {
        with_checker(Checker::end_task);
    }
}
