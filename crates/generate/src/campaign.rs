//! Tests over many seeds: the number of seeds, the first seed, parallel work on all cores, and a
//! time limit.

use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

/// A number from the environment: the number of seeds, or the first seed.
pub fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}"))
    })
}

/// Runs `work` on the numbers of a range, on all cores.
pub fn in_parallel(numbers: Range<u64>, work: impl Fn(u64) + Sync) {
    in_parallel_with(numbers, || (), |(), number| work(number));
}

/// Runs `work` on the numbers of a range, on all cores. Each thread has its own state.
pub fn in_parallel_with<S>(
    numbers: Range<u64>,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, u64) + Sync,
) {
    small_pages();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    // Numbers differ much in cost, so each thread takes the next one when it is done.
    let numbers = Mutex::new(numbers);
    let next = || numbers.lock().expect("no panic").next();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut state = state();
                while let Some(number) = next() {
                    work(&mut state, number);
                }
            });
        }
    });
}

/// Lets the process have small pages alone. Programs of a campaign are small: clearing a huge page
/// for each table that a run reserves would take longer than the run. Not all systems can do so.
fn small_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// The result of `work`, which must take at most `limit` of processor time. Other work on the
/// machine and other threads do not count. There is no limit on a system that does not report
/// processor time.
pub fn within<T>(limit: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let before = processor_time();
    let answer = work();
    if let (Some(before), Some(after)) = (before, processor_time()) {
        let time = after - before;
        assert!(time <= limit, "{what} takes {time:?} of a processor");
    }
    answer
}

/// The time that this thread has spent on a processor.
fn processor_time() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = statistics.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_processor_is_counted() {
        if processor_time().is_none() {
            return;
        }
        let slept = Duration::from_millis(200);
        within(slept / 2, "sleep", || std::thread::sleep(slept));
        let spin = || {
            let begun = processor_time();
            while processor_time() <= begun.map(|time| time + slept) {}
        };
        let counted = std::panic::catch_unwind(|| within(slept, "spinning", spin));
        assert!(counted.is_err());
    }
}
