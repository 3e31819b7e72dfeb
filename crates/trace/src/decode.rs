//! Records as events, accesses and facts: the other side of `encode`.
//!
//! Everything is checked before it is passed on ([`Validity`]).

use crate::accesses::{self, Predicted};
use crate::bytes::Bytes;
use crate::encode::{FINISH_KINDS, TASK_KINDS, tag};
use crate::error::Wrong;
use crate::prediction::{Begin, Pattern, Predictions};
use crate::program::{Program, construct_of};
use crate::read::Hear;
use crate::record::{Creation, Object, Shape};
use crate::validity::{MOST_TASKS, Validity};
use finishline_model::{
    Access, AllocationId, Event, FinishId, Location, LockId, LockMode, SiteId, TaskId, TaskKind,
};

#[derive(Debug)]
pub(crate) struct Decoder<'p> {
    program: &'p Program,
    predictions: Predictions,
    accesses: Predicted,
    validity: Validity<'p>,
    /// The task that has just begun, its parent and how. Only then can its creation be told.
    begun: Option<(TaskId, TaskId, Begin)>,
}

impl<'p> Decoder<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        Decoder {
            program,
            predictions: Predictions::new(program),
            accesses: Predicted::new(program.source.accesses.len()),
            validity: Validity::new(program),
            begun: None,
        }
    }

    /// Tells of all records of a chunk.
    pub(crate) fn chunk(&mut self, contents: &[u8], hear: &mut impl Hear) -> Result<(), Wrong> {
        let mut bytes = Bytes::new(contents);
        while !bytes.is_empty() {
            let first = bytes.byte()?;
            let task = self.predictions.task;
            if first >= accesses::tag::PREDICTED {
                for _ in 0..=first & !accesses::tag::PREDICTED {
                    self.heard(self.accesses.next(task), hear)?;
                }
            } else if first >= accesses::tag::ACCESS {
                let access = self.accesses.read(task, first, &mut bytes)?;
                self.heard(access, hear)?;
            } else {
                self.record(first, &mut bytes, hear)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn heard(&mut self, access: Access, hear: &mut impl Hear) -> Result<(), Wrong> {
        self.validity.access(&access)?;
        if access.id.index() >= self.program.source.accesses.len() {
            return Err(Wrong::NoSuch("access"));
        }
        self.begun = None;
        self.accesses.learn(&access);
        hear.access(&access);
        Ok(())
    }

    fn record(&mut self, tag: u8, bytes: &mut Bytes, hear: &mut impl Hear) -> Result<(), Wrong> {
        let begun = self.begun.take();
        let task = self.predictions.task;
        let event = match tag {
            tag::SWITCH => {
                self.predictions.task = TaskId(bytes.differing_small(task.0)?);
                return Ok(());
            }
            tag::OBJECT => return self.object(bytes, hear),
            tag::CREATED => {
                let begun = begun.ok_or(Wrong::Impossible("a task is created twice"))?;
                return self.created(begun, bytes, hear);
            }
            tag::TASK_AGAIN => return self.again(hear),
            tag::TASK_BEGIN => {
                let begin = Begin {
                    kind: task_kind(bytes)?,
                    finish: self.finish(bytes)?.0,
                    site: self.site(bytes)?.0,
                };
                self.task_begin(begin)?
            }
            tag::TASK_END => {
                self.predictions.end();
                Event::TaskEnd { task }
            }
            tag::FINISH_BEGIN => self.finish_begin(bytes)?,
            tag::FINISH_JOIN => Event::FinishJoin {
                task,
                finish: self.finish(bytes)?,
                site: self.site(bytes)?,
            },
            tag::FINISH_END => Event::FinishEnd {
                task,
                finish: self.finish(bytes)?,
                site: self.site(bytes)?,
            },
            tag::ISOLATED_BEGIN => Event::IsolatedBegin {
                task,
                site: self.site(bytes)?,
            },
            tag::ISOLATED_END => Event::IsolatedEnd {
                task,
                site: self.site(bytes)?,
            },
            tag::PROMISE_SET => Event::PromiseSet {
                task,
                promise: self.promise(bytes)?,
                site: self.site(bytes)?,
            },
            tag::PROMISE_GET => Event::PromiseGet {
                task,
                promise: self.promise(bytes)?,
                site: self.site(bytes)?,
            },
            tag::LOCK => Event::Lock {
                task,
                lock: LockId(bytes.small()?),
                mode: LockMode::Exclusive,
            },
            tag::UNLOCK => Event::Unlock {
                task,
                lock: LockId(bytes.small()?),
            },
            tag::ALLOC => {
                let allocation = self.allocation(bytes)?;
                let first = Location(bytes.differing(self.predictions.next_location)?);
                let count = bytes.number()?;
                self.predictions.next_location = first.0.wrapping_add(count);
                Event::Alloc {
                    task,
                    allocation,
                    first,
                    count,
                }
            }
            _ => return Err(Wrong::NoSuch("record")),
        };
        self.validity.event(&event)?;
        if let Event::TaskBegin {
            task,
            parent: Some(parent),
            kind,
            finish,
            site,
        } = event
        {
            let begin = Begin {
                kind,
                finish: finish.0,
                site: site.0,
            };
            self.begun = Some((task, parent, begin));
        }
        hear.event(&event);
        Ok(())
    }

    /// The next task begins, and is created, as predicted.
    fn again(&mut self, hear: &mut impl Hear) -> Result<(), Wrong> {
        let what = Wrong::Impossible("no task was created before");
        let Pattern {
            begin,
            function,
            construct,
        } = self.predictions.pattern.ok_or(what)?;
        self.predictions.finish = begin.finish;
        self.predictions.site = begin.site;
        let parent = self.predictions.task;
        let event = self.task_begin(begin)?;
        self.validity.event(&event)?;
        hear.event(&event);
        self.predictions.repeat(function);
        let latest = &self.predictions.functions[function as usize];
        hear.created(&Creation {
            task: event.task(),
            parent,
            site: SiteId(begin.site),
            construct,
            index: latest.index,
            function,
            captures: &latest.captures,
        });
        Ok(())
    }

    fn task_begin(&mut self, begin: Begin) -> Result<Event, Wrong> {
        let parent = (self.predictions.tasks > 0).then_some(self.predictions.task);
        if self.predictions.tasks >= MOST_TASKS {
            return Err(Wrong::TooBig);
        }
        Ok(Event::TaskBegin {
            task: self.predictions.begin(),
            parent,
            kind: begin.kind,
            finish: FinishId(begin.finish),
            site: SiteId(begin.site),
        })
    }

    fn finish_begin(&mut self, bytes: &mut Bytes) -> Result<Event, Wrong> {
        let kind = FINISH_KINDS.get(usize::from(bytes.byte()?));
        let kind = *kind.ok_or(Wrong::NoSuch("kind of finish"))?;
        let site = self.site(bytes)?;
        let finish = FinishId(self.predictions.finishes);
        if self.predictions.finishes >= MOST_TASKS {
            return Err(Wrong::TooBig);
        }
        self.predictions.finishes += 1;
        self.predictions.finish = finish.0;
        Ok(Event::FinishBegin {
            task: self.predictions.task,
            finish,
            kind,
            site,
        })
    }

    fn finish(&mut self, bytes: &mut Bytes) -> Result<FinishId, Wrong> {
        self.predictions.finish = bytes.differing_small(self.predictions.finish)?;
        Ok(FinishId(self.predictions.finish))
    }

    fn site(&mut self, bytes: &mut Bytes) -> Result<SiteId, Wrong> {
        self.predictions.site = bytes.differing_small(self.predictions.site)?;
        Ok(SiteId(self.predictions.site))
    }

    fn promise(&mut self, bytes: &mut Bytes) -> Result<Location, Wrong> {
        self.predictions.promise = bytes.differing(self.predictions.promise)?;
        Ok(Location(self.predictions.promise))
    }

    fn allocation(&self, bytes: &mut Bytes) -> Result<AllocationId, Wrong> {
        let allocation = AllocationId(bytes.small()?);
        match allocation.index() < self.program.source.allocations.len() {
            true => Ok(allocation),
            false => Err(Wrong::NoSuch("allocation")),
        }
    }

    fn object(&mut self, bytes: &mut Bytes, hear: &mut impl Hear) -> Result<(), Wrong> {
        let allocation = self.allocation(bytes)?;
        let first = Location(bytes.differing(self.predictions.next_location)?);
        let no_shape = Wrong::NoSuch("shape");
        let sizes;
        let (shape, count) = match bytes.byte()? {
            0 => (Shape::Globals, self.program.globals.len() as u64),
            1 => {
                let number = bytes.small()?;
                let fields = self.program.structs.get(number as usize).ok_or(no_shape)?;
                (Shape::Struct(number), fields.len() as u64)
            }
            2 => {
                sizes = bytes.list(Bytes::number)?;
                let count = sizes
                    .iter()
                    .try_fold(1, |count: u64, size| count.checked_mul(*size));
                if sizes.is_empty() {
                    return Err(no_shape);
                }
                (Shape::Array(&sizes), count.ok_or(Wrong::TooBig)?)
            }
            3 => (Shape::Promise, 2),
            4 => {
                self.validity.lock_made();
                (Shape::Lock, 2)
            }
            _ => return Err(no_shape),
        };
        let earlier = &mut self.predictions.earlier[allocation.index()];
        let before = bytes.differing(*earlier)?;
        *earlier = before.wrapping_add(1);
        self.predictions.next_location = first.0.wrapping_add(count);
        let task = self.predictions.task;
        self.validity.object(task, first, count)?;
        hear.object(&Object {
            task,
            allocation,
            first,
            count,
            shape,
            // No run makes so many. Reports add one.
            earlier: before.min(u64::MAX - 1),
        });
        Ok(())
    }

    fn created(
        &mut self,
        (task, parent, begin): (TaskId, TaskId, Begin),
        bytes: &mut Bytes,
        hear: &mut impl Hear,
    ) -> Result<(), Wrong> {
        let function = bytes.small()?;
        let construct = construct_of(bytes.byte()?)?;
        let functions = &mut self.predictions.functions;
        let latest = functions.get_mut(function as usize);
        let latest = latest.ok_or(Wrong::NoSuch("function"))?;
        let index = bytes.differing_small(latest.index)?;
        let captures = latest.captures.iter();
        let captures: Vec<u64> = captures
            .map(|before| bytes.differing(*before))
            .collect::<Result<_, _>>()?;
        latest.learn(index, captures.iter().copied());
        self.predictions.pattern = Some(Pattern {
            begin,
            function,
            construct,
        });
        hear.created(&Creation {
            task,
            parent,
            site: SiteId(begin.site),
            construct,
            index,
            function,
            captures: &captures,
        });
        Ok(())
    }
}

fn task_kind(bytes: &mut Bytes) -> Result<TaskKind, Wrong> {
    let kind = TASK_KINDS.get(usize::from(bytes.byte()?));
    kind.copied().ok_or(Wrong::NoSuch("kind of task"))
}
