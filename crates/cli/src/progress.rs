//! Shows progress on standard error after a second.

use finishline_engine::explore::Progress;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing is shown before this time. Most programs have ended by then.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Does `work` and shows its progress meanwhile, if standard error is a terminal. Once the program
/// prints to a terminal, its output is progress enough.
pub(crate) fn shown<R>(
    quiet: bool,
    what: &str,
    (done_so_far, unit): (&AtomicU64, &str),
    output: &mut (dyn Write + Send),
    work: impl FnOnce(&mut (dyn Write + Send)) -> R,
) -> R {
    if quiet || !io::stderr().is_terminal() {
        return work(output);
    }
    let done = AtomicBool::new(false);
    let message = || {
        let so_far = HumanCount(done_so_far.load(Ordering::Relaxed));
        format!("{what}: {so_far} {unit}")
    };
    watched(message, &done, || {
        work(&mut Noticed {
            output,
            done: &done,
        })
    })
}

/// Explores, and shows how far it is: orders, and the share of the pieces.
pub(crate) fn exploring<R>(quiet: bool, progress: &Progress, work: impl FnOnce() -> R) -> R {
    if quiet || !io::stderr().is_terminal() {
        return work();
    }
    let message = || {
        let orders = progress.orders.load(Ordering::Relaxed);
        let explored = progress.explored.load(Ordering::Relaxed);
        let pieces = progress.pieces.load(Ordering::Relaxed);
        let so_far = format!("exploring: {} orders", HumanCount(orders));
        match pieces > 1 && explored > 0 {
            // Pieces are about as large as each other.
            true => {
                let about = orders as f64 / explored as f64 * pieces as f64;
                let percent = explored * 100 / pieces;
                let about = HumanCount(about as u64);
                format!("{so_far} of about {about}, {percent} %")
            }
            false => so_far,
        }
    };
    watched(message, &AtomicBool::new(false), work)
}

/// Does `work` and shows the elapsed time.
pub(crate) fn timed<R>(quiet: bool, what: &str, work: impl FnOnce() -> R) -> R {
    if quiet || !io::stderr().is_terminal() {
        return work();
    }
    watched(|| what.to_owned(), &AtomicBool::new(false), work)
}

/// Does `work` and shows `message` until `done`.
fn watched<R>(
    message: impl Fn() -> String + Sync,
    done: &AtomicBool,
    work: impl FnOnce() -> R,
) -> R {
    thread::scope(|scope| {
        let bar = scope.spawn(|| watch(&message, done));
        let result = work();
        // Only a signal to stop drawing. The join below orders everything else.
        done.store(true, Ordering::Relaxed);
        bar.thread().unpark();
        result
    })
}

fn watch(message: &(impl Fn() -> String + Sync), done: &AtomicBool) {
    let start = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    while !done.load(Ordering::Relaxed) {
        thread::park_timeout(TICK);
        if start.elapsed() < PATIENCE {
            continue;
        }
        let bar = bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]");
            let bar = ProgressBar::new_spinner().with_elapsed(start.elapsed());
            style.map_or(bar.clone(), |style| bar.with_style(style))
        });
        bar.set_message(message());
        bar.tick();
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

/// The program's output. Its first line ends the display.
struct Noticed<'a> {
    output: &'a mut (dyn Write + Send),
    done: &'a AtomicBool,
}

impl Write for Noticed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.done.store(true, Ordering::Relaxed);
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
