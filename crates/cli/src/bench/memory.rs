//! How much memory of this process is resident, from Linux.

use crate::outcome::Problem;
use std::fs;
use std::io;
use std::path::PathBuf;

const STATUS: &str = "/proc/self/status";

/// The memory of a stretch of work.
pub(crate) struct Resident {
    /// Bytes resident before it.
    pub(crate) start: u64,
}

impl Resident {
    pub(crate) fn before() -> io::Result<Resident> {
        // 5 sets the peak back to what is resident now. Where it can't be, the peak of compiling counts too, which is small.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Ok(Resident {
            start: status_bytes("VmRSS:")?,
        })
    }

    /// The most bytes resident since. The system counts roughly, some 100 KiB more or less.
    pub(crate) fn peak(&self) -> io::Result<u64> {
        Ok(status_bytes("VmHWM:")?.max(self.start))
    }
}

pub(crate) fn problem(error: io::Error) -> Problem {
    Problem::Read(PathBuf::from(STATUS), error)
}

/// A line of the status, which is in units of 1024 bytes.
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

    #[test]
    fn lines_are_found_by_their_label() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t      12 kB\n";
        assert_eq!(parse(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(parse(status, "VmRSS:"), Some(12 << 10));
        assert_eq!(parse(status, "VmSwap:"), None);
        assert_eq!(parse("VmHWM: many kB", "VmHWM:"), None);
    }

    #[test]
    fn the_peak_sees_what_was_touched() {
        let resident = Resident::before().expect("the status");
        let touched = vec![1_u8; 64 << 20];
        assert!(touched.iter().all(|byte| *byte == 1));
        drop(touched);
        let grown = resident.peak().expect("the status") - resident.start;
        assert!(grown >= 60 << 20, "{grown}");
    }
}
