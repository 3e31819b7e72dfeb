//! Numbers and texts as bytes.
//!
//! A number is written in groups of seven bits, the lowest first. Every byte but the last has its
//! top bit set. So small numbers take one byte, and no number takes more than ten. A difference may
//! be negative: 0, -1, 1, -2, … are written as 0, 1, 2, 3, … so that small differences of either
//! sign are short. A text is its length in bytes and then UTF-8.

use crate::error::Wrong;

pub fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Writes `to - from`. Differences wrap around, so any two numbers have one.
pub fn put_difference(bytes: &mut Vec<u8>, from: u64, to: u64) {
    let difference = to.wrapping_sub(from) as i64;
    put_number(bytes, (difference << 1 ^ difference >> 63) as u64);
}

pub fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// Reads from the contents of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Bytes { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, if there is one, which stays.
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    #[inline]
    pub fn byte(&mut self) -> Result<u8, Wrong> {
        let (byte, rest) = self.rest.split_first().ok_or(Wrong::EndsEarly)?;
        self.rest = rest;
        Ok(*byte)
    }

    #[inline]
    pub fn number(&mut self) -> Result<u64, Wrong> {
        let mut number = 0;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            let group = u64::from(byte & 0x7f);
            if shift == 63 && byte > 1 {
                return Err(Wrong::TooBig);
            }
            number |= group << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    /// A number that must fit in 32 bits.
    pub fn small(&mut self) -> Result<u32, Wrong> {
        u32::try_from(self.number()?).map_err(|_| Wrong::TooBig)
    }

    /// The number that differs by the next difference from this one.
    #[inline]
    pub fn differing(&mut self, from: u64) -> Result<u64, Wrong> {
        let folded = self.number()?;
        let difference = (folded >> 1) as i64 ^ -((folded & 1) as i64);
        Ok(from.wrapping_add(difference as u64))
    }

    /// The same of a number that must fit in 32 bits.
    pub fn differing_small(&mut self, from: u32) -> Result<u32, Wrong> {
        u32::try_from(self.differing(u64::from(from))?).map_err(|_| Wrong::TooBig)
    }

    pub fn text(&mut self) -> Result<String, Wrong> {
        let length = usize::try_from(self.number()?).map_err(|_| Wrong::EndsEarly)?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(Wrong::EndsEarly)?;
        self.rest = rest;
        let text = std::str::from_utf8(text).map_err(|_| Wrong::NoText)?;
        Ok(text.to_owned())
    }

    /// A list: its length, and then its entries. An entry takes at least one byte, so a list is
    /// never longer than the bytes that are left.
    pub fn list<T>(
        &mut self,
        mut entry: impl FnMut(&mut Self) -> Result<T, Wrong>,
    ) -> Result<Vec<T>, Wrong> {
        let count = self.number()?;
        if count > self.rest.len() as u64 {
            return Err(Wrong::EndsEarly);
        }
        (0..count).map(|_| entry(self)).collect()
    }

    /// Whether something is there that may be missing.
    pub fn is_there(&mut self) -> Result<bool, Wrong> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Wrong::NoSuch("answer")),
        }
    }

    /// Everything must have been read.
    pub fn end(self) -> Result<(), Wrong> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(Wrong::TooMuch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let numbers = (0..64).flat_map(|shift| [1 << shift, (1 << shift) - 1, u64::MAX >> shift]);
        for number in numbers {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            put_difference(&mut bytes, number, 7);
            put_difference(&mut bytes, 7, number);
            let mut read = Bytes::new(&bytes);
            assert_eq!(read.number(), Ok(number));
            assert_eq!(read.differing(number), Ok(7));
            assert_eq!(read.differing(7), Ok(number));
            assert_eq!(read.end(), Ok(()));
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(Bytes::new(&[]).number(), Err(Wrong::EndsEarly));
        assert_eq!(Bytes::new(&[0x80]).number(), Err(Wrong::EndsEarly));
        assert_eq!(Bytes::new(&[0xff; 10]).number(), Err(Wrong::TooBig));
        assert_eq!(Bytes::new(&[0xff; 5]).small(), Err(Wrong::EndsEarly));
        assert_eq!(
            Bytes::new(&[0xff, 0xff, 0xff, 0xff, 0x7f]).small(),
            Err(Wrong::TooBig)
        );
    }

    #[test]
    fn a_list_is_no_longer_than_its_bytes() {
        let long = [0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        let list = Bytes::new(&long).list(Bytes::byte);
        assert_eq!(list, Err(Wrong::EndsEarly));
        assert_eq!(Bytes::new(&[2, 7, 8]).list(Bytes::byte), Ok(vec![7, 8]));
    }
}
