//! Records as calls: the other side of `encode`.

use super::about::range;
use super::call::{Call, Change, Operation, StackChange, Told};
use super::encode::{KnownStack, flag, tag};
use super::read::Follow;
use crate::accesses::{self, Predicted};
use crate::bytes::Bytes;
use crate::error::Wrong;
use finishline_model::kinds::{NativeFinishKind, NativeTaskKind, WaitKind};
use finishline_model::{Access, FinishId, TaskId};

/// A program has no more places than this. The bound is one on memory.
const MOST_PLACES: usize = 1 << 26;

const NO_CALL: Wrong = Wrong::NoSuch("call");

#[derive(Debug)]
pub(super) struct Decoder {
    accesses: Predicted,
    /// The place of each access of the program, and whether it is a range.
    sites: Vec<(u64, bool)>,
    places: Vec<u64>,
    place: u64,
    address: u64,
    lower: u64,
    stack: Option<KnownStack>,
    /// What the next call is told with: how many functions were kept, if something changed, and the
    /// stack pointer.
    kept: Option<usize>,
    next_lower: Option<u64>,
    answers: Vec<bool>,
}

impl Decoder {
    pub(super) fn new() -> Decoder {
        Decoder {
            accesses: Predicted::new(0),
            sites: Vec::new(),
            places: Vec::new(),
            place: 0,
            address: 0,
            lower: 0,
            stack: Some(KnownStack::default()),
            kept: None,
            next_lower: None,
            answers: Vec::new(),
        }
    }

    /// Tells of all records of a chunk.
    pub(super) fn chunk(&mut self, contents: &[u8], follow: &mut impl Follow) -> Result<(), Wrong> {
        let mut bytes = Bytes::new(contents);
        while !bytes.is_empty() {
            let first = bytes.byte()?;
            if first >= accesses::tag::PREDICTED {
                for _ in 0..first & !accesses::tag::PREDICTED {
                    let call = self.access(self.accesses.next(TaskId::MAIN))?;
                    self.tell(&call, follow)?;
                }
                let call = self.access(self.accesses.next(TaskId::MAIN))?;
                self.answered(&call, &mut bytes, follow)?;
            } else if first >= accesses::tag::ACCESS {
                let access = self.accesses.read(TaskId::MAIN, first, &mut bytes)?;
                let call = self.access(access)?;
                self.answered(&call, &mut bytes, follow)?;
            } else if let Some(call) = self.record(first, &mut bytes)? {
                self.answered(&call, &mut bytes, follow)?;
            }
        }
        match (self.kept, self.next_lower) {
            (None, None) => Ok(()),
            _ => Err(Wrong::EndsEarly),
        }
    }

    /// Tells a call with the answers that follow it.
    fn answered(
        &mut self,
        call: &Call,
        bytes: &mut Bytes,
        follow: &mut impl Follow,
    ) -> Result<(), Wrong> {
        self.answers.clear();
        while let Some(answer @ (tag::NO | tag::YES)) = bytes.peek() {
            bytes.byte()?;
            self.answers.push(answer == tag::YES);
        }
        self.tell(call, follow)?;
        self.answers.clear();
        Ok(())
    }

    fn tell(&mut self, call: &Call, follow: &mut impl Follow) -> Result<(), Wrong> {
        let stack = match self.kept.take() {
            None => None,
            Some(kept) => {
                let entered = self.stack.as_ref().and_then(|stack| {
                    let at = kept.checked_sub(stack.outside)?;
                    stack.calls.get(at..)
                });
                let entered = entered.ok_or(NO_CALL)?;
                Some(StackChange { kept, entered })
            }
        };
        follow.told(&Told {
            stack,
            call,
            answers: &self.answers,
        })?;
        if let Call::ThreadBegin { .. } | Call::ThreadRun(_) = call {
            self.stack = None;
        }
        Ok(())
    }

    fn access(&mut self, access: Access) -> Result<Call, Wrong> {
        let (place, is_range) =
            *(self.sites.get(access.id.index())).ok_or(Wrong::NoSuch("access"))?;
        self.accesses.learn(&access);
        Ok(Call::Access {
            kind: access.kind,
            address: access.first.0,
            bytes: access.count,
            place,
            is_range,
            lower: self.next_lower.take(),
        })
    }

    /// The call that a record tells, unless it prepares one.
    fn record(&mut self, tag: u8, bytes: &mut Bytes) -> Result<Option<Call>, Wrong> {
        let call = match tag {
            tag::SITE => {
                let is_range = bytes.is_there()?;
                let place = self.place(bytes)?;
                self.sites.push((place, is_range));
                self.accesses.grow_to(self.sites.len());
                return Ok(None);
            }
            tag::LOWER => {
                self.lower = bytes.differing(self.lower)?;
                self.next_lower = Some(self.lower);
                return Ok(None);
            }
            tag::STACK => {
                self.changed_stack(bytes)?;
                return Ok(None);
            }
            tag::OTHER_STACK => {
                let outside = self.position(bytes)?;
                let stack = KnownStack {
                    outside,
                    calls: Vec::new(),
                };
                self.entered(stack, bytes)?;
                self.kept = Some(outside);
                return Ok(None);
            }
            tag::ATOMIC => Call::Atomic {
                operation: self.operation(bytes)?,
                bytes: bytes.number()?,
                place: self.place(bytes)?,
            },
            tag::UNSEEN => Call::Unseen(self.operation(bytes)?),
            tag::RELIED_ON => Call::ReliedOn(self.address(bytes)?),
            tag::PUBLISHED => Call::Published(self.address(bytes)?),
            tag::BARRIER_ARRIVE => Call::BarrierArrive(self.address(bytes)?),
            tag::BARRIER_LEAVE => Call::BarrierLeave {
                address: self.address(bytes)?,
                round: bytes.number()?,
                last: bytes.is_there()?,
            },
            tag::FENCE => Call::Fence {
                acquires: bytes.is_there()?,
                releases: bytes.is_there()?,
            },
            tag::TASK_BEGIN => {
                let kind = NativeTaskKind::from_number(u32::from(bytes.byte()?));
                Call::TaskBegin {
                    kind: kind.ok_or(Wrong::NoSuch("kind of task"))?,
                    finish: FinishId(bytes.small()?),
                    place: self.place(bytes)?,
                    entry: self.address(bytes)?,
                }
            }
            tag::TASK_END => Call::TaskEnd,
            tag::TASK_CREATE => {
                let kind = NativeTaskKind::from_number(u32::from(bytes.byte()?));
                Call::TaskCreate {
                    kind: kind.ok_or(Wrong::NoSuch("kind of task"))?,
                    finish: FinishId(bytes.small()?),
                    place: self.place(bytes)?,
                }
            }
            tag::TASK_RUN => Call::TaskRun {
                task: TaskId(bytes.small()?),
                entry: self.address(bytes)?,
            },
            tag::FINISH_BEGIN => {
                let kind = NativeFinishKind::from_number(u32::from(bytes.byte()?));
                Call::FinishBegin {
                    kind: kind.ok_or(Wrong::NoSuch("kind of finish"))?,
                    place: self.place(bytes)?,
                }
            }
            tag::FINISH_END => Call::FinishEnd(FinishId(bytes.small()?)),
            tag::THREAD_BEGIN => Call::ThreadBegin {
                place: self.place(bytes)?,
                entry: self.address(bytes)?,
                stack: range(bytes)?,
                thread_locals: range(bytes)?,
            },
            tag::THREAD_END => Call::ThreadEnd(bytes.number()?),
            tag::THREAD_JOIN => Call::ThreadJoin(bytes.number()?),
            tag::THREAD_RUN => Call::ThreadRun(TaskId(bytes.small()?)),
            tag::LENDER_BEGIN => Call::LenderBegin(range(bytes)?),
            tag::STAY_BEGIN => Call::StayBegin(bytes.small()?),
            tag::STAY_END => Call::StayEnd,
            tag::ASKS => Call::Asks,
            tag::READERS => Call::Readers(self.address(bytes)?),
            tag::ALLOCATED => Call::Allocated {
                start: self.address(bytes)?,
                bytes: bytes.number()?,
                place: self.place(bytes)?,
            },
            tag::FREED => Call::Freed {
                start: self.address(bytes)?,
                place: self.place(bytes)?,
            },
            tag::KEPT => Call::Kept {
                start: self.address(bytes)?,
                place: self.place(bytes)?,
            },
            tag::GIVEN_BACK => Call::GivenBack(self.address(bytes)?),
            tag::FREED_AGAIN => Call::FreedAgain {
                start: self.address(bytes)?,
                place: self.place(bytes)?,
            },
            tag::RESIZED => Call::Resized {
                start: self.address(bytes)?,
                bytes: bytes.number()?,
                place: self.place(bytes)?,
            },
            tag::WAITS => {
                let what = WaitKind::from_number(u32::from(bytes.byte()?));
                Call::Waits {
                    what: what.ok_or(Wrong::NoSuch("reason to wait"))?,
                    place: self.place(bytes)?,
                }
            }
            _ => return Err(Wrong::NoSuch("record")),
        };
        Ok(Some(call))
    }

    fn changed_stack(&mut self, bytes: &mut Bytes) -> Result<(), Wrong> {
        let (left, common) = (self.position(bytes)?, self.position(bytes)?);
        let mut stack = self.stack.take().ok_or(NO_CALL)?;
        let kept = stack.depth().checked_sub(left).ok_or(NO_CALL)?;
        let at = kept.checked_sub(stack.outside).ok_or(NO_CALL)?;
        if common > stack.calls.len() - at {
            return Err(NO_CALL);
        }
        stack.calls.truncate(at + common);
        self.entered(stack, bytes)?;
        self.kept = Some(kept);
        Ok(())
    }

    /// Reads the calls that are not known yet.
    fn entered(&mut self, mut stack: KnownStack, bytes: &mut Bytes) -> Result<(), Wrong> {
        let mut frame = stack.innermost_frame();
        let entered = bytes.list(|bytes| {
            let place = self.place(bytes)?;
            frame = bytes.differing(frame)?;
            Ok([place, frame])
        })?;
        stack.calls.extend(entered);
        self.stack = Some(stack);
        Ok(())
    }

    fn position(&self, bytes: &mut Bytes) -> Result<usize, Wrong> {
        usize::try_from(bytes.small()?).map_err(|_| Wrong::TooBig)
    }

    fn place(&mut self, bytes: &mut Bytes) -> Result<u64, Wrong> {
        match bytes.number()? {
            0 => {
                if self.places.len() >= MOST_PLACES {
                    return Err(Wrong::TooBig);
                }
                self.place = bytes.differing(self.place)?;
                self.places.push(self.place);
                Ok(self.place)
            }
            known => {
                let at = usize::try_from(known - 1).ok();
                let place = at.and_then(|at| self.places.get(at));
                place.copied().ok_or(Wrong::NoSuch("place"))
            }
        }
    }

    fn address(&mut self, bytes: &mut Bytes) -> Result<u64, Wrong> {
        self.address = bytes.differing(self.address)?;
        Ok(self.address)
    }

    fn operation(&mut self, bytes: &mut Bytes) -> Result<Operation, Wrong> {
        let flags = bytes.byte()?;
        let change = Change::ALL.get(usize::from(flags / flag::CHANGE));
        let change = *change.ok_or(Wrong::NoSuch("atomic operation"))?;
        let address = self.address(bytes)?;
        let mut from = 0;
        let mut value = |flag: u8| -> Result<Option<u64>, Wrong> {
            if flags & flag == 0 {
                return Ok(None);
            }
            from = bytes.differing(from)?;
            Ok(Some(from))
        };
        Ok(Operation {
            address,
            before: value(flag::BEFORE)?,
            after: value(flag::AFTER)?,
            change,
            acquires: flags & flag::ACQUIRES != 0,
            releases: flags & flag::RELEASES != 0,
        })
    }
}
