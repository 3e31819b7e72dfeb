//! A set of places in a program's code, as a findings file has it.
//!
//! The file lists the smallest address, then what to add to each address to get the next one. So a
//! place takes three or four characters instead of fifteen.

use super::Parsed;
use super::entry::{Entry, Malformed};

/// Addresses inside instructions, each once, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(Vec<u64>);

impl Places {
    pub fn addresses(&self) -> &[u64] {
        &self.0
    }
}

impl FromIterator<u64> for Places {
    fn from_iter<I: IntoIterator<Item = u64>>(addresses: I) -> Places {
        let mut addresses: Vec<u64> = addresses.into_iter().collect();
        addresses.sort_unstable();
        addresses.dedup();
        Places(addresses)
    }
}

impl Entry for Places {
    fn write(&self, to: &mut String) {
        let before = std::iter::once(&0).chain(&self.0);
        let steps = self.0.iter().zip(before);
        let steps: Vec<u64> = steps.map(|(address, before)| address - before).collect();
        steps.write(to);
    }

    fn read(from: impl Parsed) -> Result<Self, Malformed> {
        let mut addresses: Vec<u64> = Vec::new();
        for step in Vec::<u64>::read(from)? {
            let next = match addresses.last() {
                None => Some(step),
                Some(last) => last.checked_add(step).filter(|_| step > 0),
            };
            let next = next.ok_or_else(|| Malformed::new("addresses do not ascend"))?;
            addresses.push(next);
        }
        Ok(Places(addresses))
    }
}
