//! Watches over the processes that this one has started, and ends them when the user interrupts or
//! when their time is over.
//!
//! Signals are heard on a thread of their own, and a second thread waits for them and for the
//! nearest time limit. Whoever starts a process waits for it by [`Ward::wait`].
//!
//! A test runs in a process group of its own. So the terminal's Ctrl-C does not reach the test, and
//! all processes that the test has started can be ended with it.
//!
//! Invariant: only a process that has not been reaped yet is sent a signal, because the system may
//! give its number to another one afterwards. So [`Ward::wait`] first waits without reaping, takes
//! the process off the list, and then reaps it.

use crate::Problem;
use crate::run::CutShort;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use signal_hook::iterator::Signals;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What an interrupt means for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The process gets the same signal, and may do with it what it likes.
    PassOn,
    /// Nothing: it hears of the interrupt in another way.
    Leave,
    /// It ends at once.
    Kill,
    /// It ends at once, with all processes of its group.
    KillGroup,
}

/// Clones are the same ward.
#[derive(Clone, Default)]
pub(crate) struct Ward {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    interrupted: Option<Signal>,
    running: Vec<Running>,
}

struct Running {
    process: Pid,
    ending: Ending,
    deadline: Option<Instant>,
    /// Why it was sent a signal.
    cut_short: Option<CutShort>,
}

impl Ward {
    /// Starts to listen to signals, for the rest of this process. `noted` is called when one comes.
    pub(crate) fn listen(
        signals: &[i32],
        noted: impl Fn() + Send + 'static,
    ) -> Result<Ward, Problem> {
        let deaf = |error: io::Error| Problem::new(format!("can't listen to interrupts: {error}"));
        let mut signals = Signals::new(signals).map_err(deaf)?;
        let ward = Ward::default();
        let (listener, watch) = (ward.clone(), ward.clone());
        thread::spawn(move || {
            for signal in signals.forever() {
                noted();
                listener.interrupt(Signal::try_from(signal).unwrap_or(Signal::SIGINT));
            }
        });
        thread::spawn(move || watch.watch());
        Ok(ward)
    }

    /// Does what an interrupt does.
    pub(crate) fn interrupt(&self, signal: Signal) {
        self.state().interrupted = Some(signal);
        self.shared.changed.notify_all();
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.state().interrupted.is_some()
    }

    /// Waits for the end of a process. Also tells whether and why it was ended early.
    pub(crate) fn wait(
        &self,
        mut child: Child,
        ending: Ending,
        limit: Option<Duration>,
    ) -> io::Result<(ExitStatus, Option<CutShort>)> {
        let process = Pid::from_raw(child.id().cast_signed());
        self.state().running.push(Running {
            process,
            ending,
            deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
            cut_short: None,
        });
        self.shared.changed.notify_all();
        let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(process), ended) == Err(Errno::EINTR) {}
        let cut_short = self.state().take(process);
        let status = child.wait()?;
        // It may have ended by itself just before.
        let by_signal = status.signal().is_some();
        Ok((status, cut_short.filter(|_| by_signal)))
    }

    /// Ends processes whose time has come.
    fn watch(&self) {
        let mut state = self.state();
        loop {
            let nearest = state.end(Instant::now());
            let changed = &self.shared.changed;
            state = match nearest {
                Some(wait) => {
                    let woken = changed.wait_timeout(state, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends what is to end by now. Returns the time until the next limit.
    fn end(&mut self, now: Instant) -> Option<Duration> {
        let interrupted = self.interrupted;
        for running in self.running.iter_mut().filter(|it| it.cut_short.is_none()) {
            let is_over = running.deadline.is_some_and(|deadline| deadline <= now);
            let why = match interrupted {
                Some(_) => CutShort::Interrupt,
                None if is_over => CutShort::TimeLimit,
                None => continue,
            };
            running.cut_short = Some(why);
            // It may have ended just now. Then nobody is left to be told.
            let _ = match (running.ending, interrupted) {
                (Ending::Leave, Some(_)) => Ok(()),
                (Ending::PassOn, Some(signal)) => kill(running.process, signal),
                (Ending::PassOn | Ending::Leave | Ending::Kill, _) => {
                    kill(running.process, Signal::SIGKILL)
                }
                (Ending::KillGroup, _) => killpg(running.process, Signal::SIGKILL),
            };
        }
        let left = self.running.iter().filter(|it| it.cut_short.is_none());
        let nearest = left.filter_map(|running| running.deadline).min()?;
        Some(nearest.saturating_duration_since(now))
    }

    /// Takes a process off the list.
    fn take(&mut self, process: Pid) -> Option<CutShort> {
        let at = self.running.iter().position(|it| it.process == process)?;
        self.running.swap_remove(at).cut_short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn ward() -> Ward {
        let ward = Ward::default();
        let watch = ward.clone();
        thread::spawn(move || watch.watch());
        ward
    }

    fn shell(script: &str) -> Child {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).process_group(0);
        shell.spawn().expect("a shell")
    }

    #[test]
    fn a_process_that_ends_in_time_is_left_alone() {
        let ward = ward();
        let waited = ward.wait(shell("exit 3"), Ending::KillGroup, Some(HOUR));
        let (status, cut_short) = waited.expect("it ends");
        assert_eq!((status.code(), cut_short), (Some(3), None));
    }

    #[test]
    fn the_nearest_limit_ends_its_process_alone() {
        let ward = ward();
        let late = ward.wait(shell("sleep 3600"), Ending::KillGroup, Some(Duration::ZERO));
        assert_eq!(late.expect("it ends").1, Some(CutShort::TimeLimit));
        let other = ward.wait(shell("true"), Ending::KillGroup, None);
        assert!(other.expect("it ends").0.success());
    }

    #[test]
    fn what_is_left_alone_goes_on() {
        let ward = ward();
        ward.interrupt(Signal::SIGINT);
        let waited = ward.wait(shell("sleep 0.1; exit 3"), Ending::Leave, None);
        assert_eq!(waited.expect("it ends").0.code(), Some(3));
    }

    /// Also a process that is started afterwards.
    #[test]
    fn an_interrupt_ends_all() {
        let ward = ward();
        thread::scope(|scope| {
            let waiting = ["a", "b"].map(|_| {
                let child = shell("sleep 3600 & wait");
                scope.spawn(|| ward.wait(child, Ending::KillGroup, Some(HOUR)))
            });
            ward.interrupt(Signal::SIGTERM);
            for waited in waiting {
                let waited = waited.join().expect("no panic").expect("it ends");
                assert_eq!(waited.1, Some(CutShort::Interrupt));
            }
        });
        let later = ward.wait(shell("exec sleep 3600"), Ending::PassOn, None);
        let (status, cut_short) = later.expect("it ends");
        assert_eq!(status.signal(), Some(Signal::SIGTERM as i32));
        assert_eq!(cut_short, Some(CutShort::Interrupt));
    }
}
