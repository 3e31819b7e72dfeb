//! Files that are no traces, or not whole ones, are refused with an error. None is a panic, and
//! none takes much memory or time.

use crate::damage::{Random, Taken};
use crate::round_trip::{Heard, recorded};
use finishline_trace::{Error, Part, Trace};
use std::io::Cursor;

/// Reads everything that is in a file.
fn read(bytes: &[u8]) -> Result<(Heard, bool), Error> {
    let mut trace = Trace::open(Cursor::new(bytes))?;
    let mut heard = Heard::default();
    trace.tell(Part::Run, &mut heard)?;
    trace.tell(Part::CloseUp, &mut Heard::default())?;
    Ok((heard, trace.ending.is_some()))
}

#[test]
fn every_changed_byte_is_noticed() {
    let (bytes, _) = recorded(300);
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            let error = read(&changed).expect_err("a byte was changed");
            match (at, error) {
                (0..8, Error::NoTrace) | (8..16, Error::Damaged { at: 0 }) => {}
                (16.., Error::Damaged { .. } | Error::CutOff { .. }) => {}
                (at, error) => panic!("byte {at}: {error:?}"),
            }
        }
    }
}

#[test]
fn a_trace_that_is_cut_off_is_read_up_to_a_chunk() {
    let (bytes, told) = recorded(1500);
    let taken = Taken::apart(&bytes);
    assert!(taken.chunks.len() > 5, "there are several chunks");
    let borders: Vec<usize> = (0..=taken.chunks.len())
        .map(|chunks| taken.cut(chunks).len())
        .collect();
    for length in 0..bytes.len() {
        match (read(&bytes[..length]), borders.binary_search(&length)) {
            (Ok((heard, ended)), Ok(chunks)) => {
                assert!(chunks > 0, "there are names");
                let has_end = taken.chunks[..chunks].iter().any(|(kind, _)| *kind == 3);
                assert_eq!(ended, has_end);
                assert_eq!(heard.0, told.0[..heard.0.len()]);
            }
            (Err(Error::CutOff { whole: 0 }), found) => {
                assert!(found.is_err() || length == borders[0]);
                assert!(length < borders[1]);
            }
            (Err(Error::CutOff { whole }), Err(next)) => {
                assert_eq!(whole, borders[next - 1] as u64);
            }
            (Err(Error::NoTrace), _) => assert_eq!(length, 0),
            (read, _) => panic!("{length} bytes: {:?}", read.map(|_| ())),
        }
    }
}

#[test]
fn chunks_that_moved_are_noticed() {
    let taken = Taken::apart(&recorded(300).0);
    let whole = taken.sealed();
    assert!(read(&whole).is_ok());
    let length = |chunks| taken.cut(chunks).len();
    let without = [&whole[..length(2)], &whole[length(3)..]].concat();
    assert!(matches!(read(&without), Err(Error::Damaged { .. })));
    let doubled = [&whole[..length(3)], &whole[length(2)..]].concat();
    assert!(matches!(read(&doubled), Err(Error::Damaged { .. })));
}

#[test]
fn another_version_is_named() {
    let (mut bytes, _) = recorded(10);
    bytes[8] = 6;
    assert!(matches!(read(&bytes), Err(Error::Damaged { at: 0 })));
    let mut with_version = |version: u32| {
        let header = [&bytes[..8], &version.to_le_bytes()].concat();
        let sum = crate::damage::checksum(&header).to_le_bytes();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        bytes[12..16].copy_from_slice(&sum);
        read(&bytes)
    };
    assert!(matches!(with_version(6), Err(Error::Newer(6))));
    assert!(matches!(with_version(0), Err(Error::Newer(0))));
    // A file of an earlier format is one of this format without some records.
    for version in 1..=4 {
        assert!(with_version(version).is_ok());
    }
}

#[test]
fn random_bytes_are_no_trace() {
    let mut random = Random(1);
    let (bytes, _) = recorded(10);
    for _ in 0..20_000 {
        let count = random.below(200);
        let noise: Vec<u8> = (0..count).map(|_| random.next() as u8).collect();
        assert!(read(&noise).is_err());
        // Behind a header, too.
        assert!(read(&[&bytes[..16], &noise].concat()).is_err());
    }
}

/// The checksums are right, so the contents are looked at.
#[test]
fn contents_that_make_no_sense_are_refused() {
    let taken = Taken::apart(&recorded(40).0);
    let mut random = Random(2);
    let (mut refused, mut read_through) = (0, 0);
    for _ in 0..40_000 {
        let mut damaged = taken.clone();
        damaged.damage(&mut random);
        match read(&damaged.sealed()) {
            Ok(_) => read_through += 1,
            Err(Error::Wrong { .. }) => refused += 1,
            Err(Error::CutOff { whole: 0 }) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    // A changed location or text makes sense, too.
    assert!(refused > 10_000 && read_through > 1000, "{refused}");
}
