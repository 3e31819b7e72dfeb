//! rayon: the functions that the drop-in for rayon-core calls.
//!
//! The drop-in runs each task at once, on the thread of its creator, and tells where tasks and
//! finishes begin and end. Kinds cross the interface as numbers
//! ([`finishline_model::kinds::rayon`]).
//!
//! The drop-in also tells which logical thread a task is on, and has a real thread for each, a
//! [`Lender`]. A lender crosses the interface as its address, which stays valid for ever. 0 is
//! none.

use crate::checker::Checker;
use crate::checker::options::Options;
use crate::facts::structure::{FinishKind, TaskKind};
use crate::process::{self, Lender, with_checker};
use crate::turns::{self, Begin, For};
use finishline_model::kinds::WaitKind;
use finishline_model::kinds::rayon::{
    self, Division, INTERFACE_VERSION, INTERRUPTS, RIGHT_FIRST, TO_ITEMS,
};
use finishline_model::{FinishId, TaskId};
use std::arch::naked_asm;
use std::ffi::c_void;
use std::sync::atomic::Ordering;

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
    let answer = |options: &Options, further: bool| {
        let to_items = if options.to_items && further {
            TO_ITEMS
        } else {
            0
        };
        options.logical_threads | to_items
    };
    let of_checker =
        |checker: &mut Checker| answer(&checker.options, checker.orders.divides_further());
    with_checker(of_checker).unwrap_or_else(|| answer(&Options::default(), true))
}

/// Parallel iterators were divided as finely as this.
#[unsafe(no_mangle)]
extern "C" fn __finishline_divided(division: u32) {
    if let Some(division) = Division::from_number(division) {
        process::set_division(division);
    }
}

/// How the halves of the next join run.
#[unsafe(no_mangle)]
extern "C" fn __finishline_join_order() -> u32 {
    let order = |checker: &mut Checker| {
        let orders = &mut checker.orders;
        let right_first = if orders.right_first() { RIGHT_FIRST } else { 0 };
        let interrupts = if orders.interrupts() { INTERRUPTS } else { 0 };
        right_first | interrupts
    };
    with_checker(order).unwrap_or(0)
}

/// Whether the task that is about to be spawned is to run later.
#[unsafe(no_mangle)]
extern "C" fn __finishline_defers(kind: u32) -> u32 {
    use rayon::TaskKind::{ScopeSpawn, ScopeSpawnFifo};
    let is_of_scope = match rayon::TaskKind::from_number(kind) {
        Some(ScopeSpawn | ScopeSpawnFifo) => true,
        Some(_) => false,
        None => return 0,
    };
    let defers = |checker: &mut Checker| match is_of_scope {
        true => checker.orders.defers(),
        // The end of a test's thread is told in time for them to run, that of the program is not.
        false => {
            checker.options.test_thread && checker.orders.puts_off() && checker.orders.defers()
        }
    };
    with_checker(defers).map_or(0, u32::from)
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

/// The runtime may begin a task that was created, on this thread.
///
/// # Safety
///
/// As of [`turns::offer`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __finishline_task_offer(task: u64, begin: Begin, data: *mut c_void) {
    if with_checker(|checker| checker.orders.puts_off()) == Some(true) {
        // SAFETY: by contract.
        unsafe { turns::offer(TaskId(task as u32), begin, data) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __finishline_task_withdraw(task: u64) {
    turns::withdraw(TaskId(task as u32));
}

/// What crosses the interface for a lender.
fn handle(lender: Option<&'static Lender>) -> u64 {
    lender.map_or(0, |lender| std::ptr::from_ref(lender) as u64)
}

/// The lender of a handle that the drop-in got from here.
fn lender(handle: u64) -> Option<&'static Lender> {
    // SAFETY: lenders are never freed.
    unsafe { (handle as *const Lender).as_ref() }
}

/// Begins a thread for tasks to be on. `spawn` has it begun, and answers whether it is. The thread
/// must call [`__finishline_thread_lend`].
#[unsafe(no_mangle)]
extern "C" fn __finishline_thread_begin(
    spawn: unsafe extern "C" fn(*mut c_void, u64) -> u32,
    data: *mut c_void,
) -> u64 {
    // SAFETY: the drop-in's own function and data; it does not unwind.
    let begun = Lender::begin(|lender| unsafe { spawn(data, handle(Some(lender))) } != 0);
    handle(begun)
}

/// The running thread becomes one for tasks to be on, while it runs or when it
/// [lends itself](__finishline_thread_lend).
#[unsafe(no_mangle)]
extern "C" fn __finishline_thread_settle() -> u64 {
    let this = Lender::this();
    with_checker(|checker| {
        this.number
            .store(checker.current_thread(), Ordering::Relaxed)
    });
    handle(Some(this))
}

/// The running thread waits for its end, and tasks can be on it meanwhile.
#[unsafe(no_mangle)]
extern "C" fn __finishline_thread_lend(thread: u64) {
    let Some(lender) = lender(thread) else {
        return;
    };
    lender.comes();
    let followed = with_checker(|checker| checker.would_stop(WaitKind::Futex, 0));
    let Some(stopped) = followed else {
        return lender.wait();
    };
    let (address, value) = lender.word();
    turns::wait(For::Word { address, value }, false, stopped, || {
        lender.wait();
    });
}

/// Calls `body` on a thread, if that is free, and otherwise where it is. Either way a stay begins:
/// what was asked before is not known to a task that may be on another thread in another schedule.
#[unsafe(no_mangle)]
unsafe extern "C" fn __finishline_thread_visit(
    thread: u64,
    body: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) {
    process::visit(lender(thread), &mut |on| {
        let begun = with_checker(|checker| stay(checker, on));
        // SAFETY: the drop-in's own function and data; it does not unwind.
        unsafe { body(data) };
        if begun.is_some() {
            with_checker(Checker::end_stay);
        }
    });
}

/// The running task is on a lender from here on.
fn stay(checker: &mut Checker, lender: Option<&Lender>) {
    let Some(lender) = lender else {
        return checker.begin_stay(checker.current_thread());
    };
    if lender.number.load(Ordering::Relaxed) == Lender::UNKNOWN {
        let thread_locals = process::thread_locals_of(lender.pointer() as u64);
        let number = checker.new_thread(thread_locals);
        lender.number.store(number, Ordering::Relaxed);
    }
    checker.begin_stay(lender.number.load(Ordering::Relaxed));
}

/// Ends a thread's waiting, as soon as no task is on it.
#[unsafe(no_mangle)]
extern "C" fn __finishline_thread_end(thread: u64) {
    if let Some(lender) = lender(thread) {
        turns::wakes(lender.word().0, 1);
        lender.end();
    }
}

/// The program asks which thread it is on.
#[unsafe(no_mangle)]
extern "C" fn __finishline_asks() {
    with_checker(Checker::asks);
}
