//! Objects in phases: a phase that writes what it has read without a record learns of it.

use super::phases::{AtObject, Maker, ObjectPhase, Phase, Trusted};
use crate::atomics::explore;
use finishline_model::AccessKind::{Read, Write};
use loom::sync::Arc;
use loom::thread;

/// An object that was made while `main` was alone.
fn old_object() -> Arc<ObjectPhase> {
    Arc::new(ObjectPhase::new(Phase::FIRST.words(false), Maker(0)))
}

#[test]
fn a_reader_is_recorded_or_lost() {
    for trusted in [Trusted::No, Trusted::WithOthers, Trusted::Yes] {
        explore(move || {
            let object = old_object();
            let phase = Phase::FIRST.beside_others();
            let reader = {
                let object = object.clone();
                thread::spawn(move || object.access(Read, phase, trusted))
            };
            let wrote = object.access(Write, phase, Trusted::No);
            let read = reader.join().unwrap();
            assert_ne!(read, AtObject::Lost);
            assert_eq!(wrote == AtObject::Lost, read == AtObject::Done);
        });
    }
}

/// One reader trusts, and one does not yet: what the second one recorded does not hide the first.
#[test]
fn trust_that_comes_while_others_record_is_seen_by_a_writer() {
    explore(|| {
        let object = old_object();
        let phase = Phase::FIRST.beside_others();
        let readers = [Trusted::No, Trusted::Yes].map(|trusted| {
            let object = object.clone();
            thread::spawn(move || object.access(Read, phase, trusted))
        });
        let wrote = object.access(Write, phase, Trusted::No);
        let read = readers.map(|reader| reader.join().unwrap());
        let unrecorded = read.contains(&AtObject::Done);
        assert_eq!(wrote == AtObject::Lost, unrecorded);
    });
}
