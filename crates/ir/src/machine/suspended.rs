//! What a suspended task has still to do: its frames, and what of that can be known before it goes
//! on.

use super::*;

/// A call under way in a suspended task.
#[derive(Clone, Copy, Debug)]
pub struct Suspended<'a> {
    pub function: FunctionId,
    pub block: BlockId,
    /// Index of the instruction with which it goes on; past the last one, the terminator.
    pub next: usize,
    /// By value of the function. Only those defined on the way here mean anything.
    pub registers: &'a [Datum],
    /// The caller's value for the result.
    pub result: Option<Value>,
}

impl Machine<'_> {
    /// The calls under way in a task, the outermost first. None if the task has ended.
    pub fn suspended(&self, task: TaskId) -> impl Iterator<Item = Suspended<'_>> {
        let frames = self.task(task).into_iter().flat_map(|task| {
            let frames = task.frames.iter();
            frames.map(move |frame| (frame, &task.registers[frame.base..]))
        });
        frames.map(|(frame, registers)| Suspended {
            function: frame.function,
            block: frame.block,
            next: frame.next,
            registers: &registers[..self.module.function(frame.function).values.len()],
            result: frame.result,
        })
    }

    /// The tasks that an open finish waits for.
    pub fn tasks_in(&self, finish: FinishId) -> impl Iterator<Item = TaskId> {
        let live = self.tasks.iter().filter(|task| !task.frames.is_empty());
        let others = live.filter(|task| task.id != TaskId::MAIN);
        others
            .filter(move |task| self.finishes[task.enclosing as usize].id == finish)
            .map(|task| task.id)
    }

    /// The value of a promise, if it was set. It stays what it is.
    pub fn value_of(&self, promise: Handle) -> Option<Datum> {
        self.set_at(promise)?;
        Some(self.heap.object(promise).get(promises::VALUE))
    }

    /// Gives an empty promise a value that the program does not give it: an experiment, to see what
    /// its tasks would do.
    pub fn force(&mut self, promise: Handle, value: Datum) {
        self.heap.store(promise, promises::VALUE, value);
        self.heap.store(promise, promises::MARK, Datum::Int(1));
    }

    /// The result of an instruction that no other task has a part in. None if an operand is not
    /// known, if the instruction fails, and for any other instruction.
    pub fn foresee(&self, op: &Op, get: impl Fn(Value) -> Option<Datum>) -> Option<Datum> {
        Some(match op {
            Op::Const(constant) => Datum::from(*constant),
            Op::Globals => Datum::Ref(Some(Handle::GLOBALS)),
            Op::Unary(op, a) => arithmetic::unary(*op, get(*a)?),
            Op::Binary(op, a, b) => arithmetic::binary(*op, get(*a)?, get(*b)?).ok()?,
            Op::Compare(op, a, b) => Datum::Bool(arithmetic::compare(*op, get(*a)?, get(*b)?)),
            Op::Convert(a, to) => arithmetic::convert(get(*a)?, *to),
            Op::RangeCount {
                start,
                end,
                step,
                inclusive,
            } => {
                let (start, end, step) = (get(*start)?, get(*end)?, get(*step)?);
                let count = arithmetic::range_count(start.int(), end.int(), step.int(), *inclusive);
                Datum::Int(count.ok()?)
            }
            Op::Index { array, indices } => {
                let array = get(*array)?.reference()?;
                let indices = indices.iter().map(|index| Some(get(*index)?.int()));
                let indices: Vec<i64> = indices.collect::<Option<_>>()?;
                let element = self.heap.object(array).element(indices.into_iter());
                Datum::Int(element.ok()?)
            }
            Op::Length { array, dimension } => {
                let array = get(*array)?.reference()?;
                let sizes = self.heap.object(array).sizes();
                Datum::Int(*sizes.get(*dimension as usize)? as i64)
            }
            Op::SizeOrZero { array, dimension } => {
                let array = get(*array)?.reference();
                Datum::Int(self.heap.size_or_zero(array, *dimension))
            }
            _ => return None,
        })
    }
}
