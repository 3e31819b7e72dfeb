//! The resident memory of this process, from Linux.
//!
//! Recent kernels know the current resident size exactly. Their record of the peak is off by some
//! 100 KiB for each processor that the process ran on. A peak that is read is at least the current
//! size. So the peak is also read while the memory of a run is still there: when the program
//! prints. The benchmarks print once, at their end.

use crate::outcome::Problem;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

const STATUS: &str = "/proc/self/status";

/// The memory of a piece of work.
pub(crate) struct Resident {
    /// Bytes resident before the work.
    pub(crate) start: u64,
}

impl Resident {
    pub(crate) fn before() -> io::Result<Resident> {
        // 5 resets the peak to the current size. Where that fails, the peak of compiling counts
        // too, which is small.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Ok(Resident {
            start: status_bytes("VmRSS:")?,
        })
    }

    /// The most bytes resident since the start, as far as the system knows.
    pub(crate) fn peak(&self) -> io::Result<u64> {
        Ok(status_bytes("VmHWM:")?.max(self.start))
    }
}

/// Keeps the output of a program, and the peak of its memory whenever it prints.
pub(crate) struct Printed<'r> {
    resident: &'r Resident,
    pub(crate) text: Vec<u8>,
    peak: u64,
}

impl<'r> Printed<'r> {
    pub(crate) fn nothing(resident: &'r Resident) -> Self {
        let (text, peak) = (Vec::new(), 0);
        Printed {
            resident,
            text,
            peak,
        }
    }

    /// The most bytes resident until now.
    pub(crate) fn peak(&self) -> io::Result<u64> {
        Ok(self.peak.max(self.resident.peak()?))
    }
}

impl Write for Printed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.peak = self.peak()?;
        self.text.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn problem(error: io::Error) -> Problem {
    Problem::Read(PathBuf::from(STATUS), error)
}

/// A line of the status file, in units of 1024 bytes.
fn status_bytes(label: &str) -> io::Result<u64> {
    let status = fs::read_to_string(STATUS)?;
    parse(&status, label).ok_or_else(|| {
        let message = format!("it has no line `{label}`");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

fn parse(status: &str, label: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(label))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn lines_are_found_by_their_label() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t      12 kB\n";
        assert_eq!(parse(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(parse(status, "VmRSS:"), Some(12 << 10));
        assert_eq!(parse(status, "VmSwap:"), None);
        assert_eq!(parse("VmHWM: many kB", "VmHWM:"), None);
    }

    /// Tests that touch much memory would see each other's memory, so they run one after the other.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Memory counts if it was resident when the program printed, even if the system forgets it.
    #[test]
    fn printing_sees_what_is_there() {
        let _alone = ALONE.lock();
        let resident = Resident::before().expect("the status");
        let mut printed = Printed::nothing(&resident);
        let touched = vec![1_u8; 64 << 20];
        assert!(touched.iter().all(|byte| *byte == 1));
        printed.write_all(b"line\n").expect("room");
        drop(touched);
        let _ = fs::write("/proc/self/clear_refs", "5");
        let grown = printed.peak().expect("the status") - resident.start;
        assert!(grown >= 60 << 20, "{grown}");
        assert_eq!(printed.text, b"line\n");
    }

    #[test]
    fn the_peak_sees_what_was_touched() {
        let _alone = ALONE.lock();
        let resident = Resident::before().expect("the status");
        let touched = vec![1_u8; 64 << 20];
        assert!(touched.iter().all(|byte| *byte == 1));
        drop(touched);
        let grown = resident.peak().expect("the status") - resident.start;
        assert!(grown >= 60 << 20, "{grown}");
    }
}
