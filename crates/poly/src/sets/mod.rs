//! Sets of integers and piecewise affine values, by isl: the few operations that the prover needs.
//!
//! A [`Set`] is a condition on [`Symbol`]s: a union of systems of linear equations and
//! inequalities, in which divisions by constants may occur. An [`Affine`] is a value in terms of
//! symbols, by pieces. isl sees every symbol as a parameter and matches parameters by name. So sets
//! over different symbols can be combined as they are.
//!
//! Every operation is exact and may take long. It ends with [`Stop::OutOfTime`] when the [`Clock`]
//! of the context has run out.

mod affine;
mod handle;
mod set;

pub(crate) use affine::Affine;
pub(crate) use set::{Linear, Set, System};

use crate::symbols::Symbol;
use finishline_isl as isl;
use handle::{Handle, checked};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    OutOfTime,
    /// isl refused: a mistake of ours, which must not become a wrong answer.
    Failed(String),
}

pub(crate) type Result<T> = std::result::Result<T, Stop>;

/// The owner of all sets made with it.
pub(crate) struct Isl {
    context: isl::Context,
}

impl Isl {
    pub(crate) fn new() -> Isl {
        let context = isl::Context::alloc();
        /// isl's number for "return without a word": what failed is told by the result.
        const CONTINUE: i32 = 1;
        // A context that can't be told so prints a line on standard error; nothing else changes.
        let _ = isl::Options::set_on_error(&context, CONTINUE);
        Isl { context }
    }

    pub(crate) fn everything(&self) -> Result<Set> {
        self.read(|context| isl::Set::read_from_str(context, "{ : }"))
            .map(Set)
    }

    pub(crate) fn nothing(&self) -> Result<Set> {
        self.read(|context| isl::Set::read_from_str(context, "{ : false }"))
            .map(Set)
    }

    pub(crate) fn constant(&self, value: impl Into<i128>) -> Result<Affine> {
        let text = format!("{{ [({})] }}", value.into());
        self.read(|context| isl::PwAff::read_from_str(context, &text))
            .map(Affine)
    }

    pub(crate) fn symbol(&self, symbol: Symbol) -> Result<Affine> {
        let text = format!("[{symbol}] -> {{ [({symbol})] }}");
        self.read(|context| isl::PwAff::read_from_str(context, &text))
            .map(Affine)
    }

    /// A set from its text.
    pub(crate) fn condition(&self, text: &str) -> Result<Set> {
        self.read(|context| isl::Set::read_from_str(context, text))
            .map(Set)
    }

    /// `symbol = value`.
    pub(crate) fn fixed(&self, symbol: Symbol, value: i64) -> Result<Set> {
        let text = format!("[{symbol}] -> {{ : {symbol} = {value} }}");
        self.read(|context| isl::Set::read_from_str(context, &text))
            .map(Set)
    }

    fn read<T: Handle>(
        &self,
        make: impl FnOnce(&isl::Context) -> std::result::Result<T, isl::LibISLError>,
    ) -> Result<T> {
        checked(&self.context, make(&self.context))
    }

    /// What claims about sets are read with.
    #[cfg(test)]
    pub(crate) fn context(&self) -> &isl::Context {
        &self.context
    }

    /// From now on all operations together are no more than this, until the clock is dropped. Some
    /// take very long, so there is a time limit too: it is for the few cases that would seem to
    /// hang.
    pub(crate) fn allow(&self, operations: u64) -> Clock<'_> {
        const LONGEST: Duration = Duration::from_secs(20);
        self.context.set_max_operations(operations.max(SPENT));
        self.clock(LONGEST)
    }

    /// From now on all operations together take no longer than this, until the clock is dropped.
    pub(crate) fn clock(&self, limit: Duration) -> Clock<'_> {
        if limit.is_zero() {
            self.context.set_max_operations(SPENT);
        }
        let watched = isl::Context {
            ptr: self.context.ptr,
            should_free_on_drop: false,
        };
        let (over, waits) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            let mut wait = limit;
            // Again and again, because printing sets the budget aside for a moment.
            while waits.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                watched.set_max_operations(SPENT);
                wait = Duration::from_millis(10);
            }
        });
        Clock {
            context: &self.context,
            over: Some(over),
            watch: Some(watch),
        }
    }
}

/// The least budget of operations, which is spent at once; 0 would mean that there is none.
const SPENT: u64 = 1;

/// A time limit. isl counts operations in its innermost loops and stops when there were too many,
/// so the watching thread makes the budget small. (isl also knows `abort`, but then has no message,
/// which its Rust wrapper does not expect.)
pub(crate) struct Clock<'a> {
    context: &'a isl::Context,
    over: Option<Sender<()>>,
    watch: Option<JoinHandle<()>>,
}

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(watch) = self.watch.take() {
            // The thread does nothing that could panic.
            let _ = watch.join();
        }
        self.context.set_max_operations(0);
        self.context.reset_operations();
    }
}

/// Whether the budget is spent. When it is, isl fails in whatever it was doing, which may be what
/// it then complains about; so if something failed and there is a budget, something simple is
/// tried.
fn is_over(context: &isl::Context) -> bool {
    const SIMPLE: &str = "[n, i] -> { : i < n and 2i > n }";
    match context.get_max_operations() {
        0 => return false,
        SPENT => return true,
        _ => {}
    }
    let simple = isl::Set::read_from_str(context, SIMPLE);
    let done = simple.is_ok_and(|set| !set.is_null() && set.is_empty().is_ok());
    if !done {
        context.reset_error();
        context.set_max_operations(SPENT);
    }
    !done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Kind;

    const N: Symbol = Symbol::new(Kind::Parameter, 0);
    const I: Symbol = Symbol::new(Kind::Counter, 3);

    #[test]
    fn arithmetic() -> Result<()> {
        let isl = Isl::new();
        let n = isl.symbol(N)?;
        let i = isl.symbol(I)?;
        let one = isl.constant(1)?;
        let sum = n.add(&i)?.sub(&one)?;
        let at = |set: &Set, n, i| {
            let point = isl.fixed(N, n)?.intersect(&isl.fixed(I, i)?)?;
            Ok::<_, Stop>(!set.intersect(&point)?.is_empty()?)
        };
        for (a, b) in [(0, 0), (3, 4), (-5, 2)] {
            let is = |value: &Affine, expected| at(&value.equals(&isl.constant(expected)?)?, a, b);
            assert!(is(&sum, a + b - 1)?);
            assert!(is(&n.floor_divide(3)?, a.div_euclid(3))?);
            assert!(is(&n.modulo(3)?, a.rem_euclid(3))?);
            assert!(is(&n.min(&i)?, a.min(b))?);
            assert!(is(&n.scale(-2)?, -2 * a)?);
            let condition = n.less(&i)?;
            assert!(is(
                &Affine::select(&condition, &n, &one)?,
                if a < b { a } else { 1 }
            )?);
        }
        assert_eq!(isl.constant(-7)?.as_constant()?, Some(-7));
        assert_eq!(n.as_constant()?, None);
        assert_eq!(n.sub(&n)?.as_constant()?, Some(0));
        Ok(())
    }

    #[test]
    fn sets() -> Result<()> {
        let isl = Isl::new();
        let (n, i) = (isl.symbol(N)?, isl.symbol(I)?);
        let below = i.less(&n)?;
        let both = below.intersect(&i.rename(|s: Symbol| s.in_copy(1))?.less(&n)?)?;
        assert_eq!(both.symbols()?.len(), 3);
        let other =
            below.rename(|symbol: Symbol| if symbol == I { I.in_copy(1) } else { symbol })?;
        assert!(both.is_subset(&other)? && !other.is_subset(&both)?);
        assert!(
            both.exists(|symbol| symbol == I.in_copy(1))?
                .is_equal(&below)?
        );
        let zero = isl.constant(0)?;
        let range = below.intersect(&zero.at_most(&i)?)?;
        assert!(range.least(I)?.equals(&zero)?.is_equal(&zero.less(&n)?)?);
        Ok(())
    }

    #[test]
    fn a_budget_of_operations_is_spent_at_the_same_point() -> Result<()> {
        let done = |operations| {
            let isl = Isl::new();
            let _clock = isl.allow(operations);
            let step = || isl.symbol(I)?.less(&isl.symbol(N)?)?.is_empty();
            (0..1000).find(|_| step() == Err(Stop::OutOfTime))
        };
        assert_eq!(done(1), Some(0));
        assert!(done(20_000) > Some(0), "{:?}", done(20_000));
        assert_eq!(done(20_000), done(20_000));
        assert_eq!(done(u64::MAX), None);
        Ok(())
    }

    /// isl has no text for a set when its budget is spent, and its wrapper would read from nowhere.
    #[test]
    fn printing_needs_no_budget() -> Result<()> {
        let isl = Isl::new();
        let (n, i) = (isl.symbol(N)?, isl.symbol(I)?);
        let even = i.modulo(2)?.equals(&isl.constant(0)?)?;
        let set = even.intersect(&i.floor_divide(3)?.less(&n)?)?;
        let expected = format!("{set:?}");
        let _clock = isl.allow(1);
        let other = || isl.symbol(I)?.less(&isl.symbol(N)?)?.is_empty();
        assert_eq!(other(), Err(Stop::OutOfTime));
        assert_eq!(format!("{set:?}"), expected);
        assert_eq!(other(), Err(Stop::OutOfTime));
        Ok(())
    }

    #[test]
    fn a_clock_ends_what_takes_too_long() -> Result<()> {
        let isl = Isl::new();
        let clock = isl.clock(Duration::ZERO);
        let (n, i) = (isl.symbol(N), isl.symbol(I));
        let condition = n.and_then(|n| n.less(&i?)?.is_empty());
        assert_eq!(condition, Err(Stop::OutOfTime));
        drop(clock);
        let works = || isl.symbol(N)?.less(&isl.symbol(I)?)?.is_empty();
        assert_eq!(works(), Ok(false));
        // The time is over at some point. This loop would not end otherwise.
        let clock = isl.clock(Duration::from_millis(1));
        while works() != Err(Stop::OutOfTime) {}
        drop(clock);
        assert_eq!(works(), Ok(false));
        Ok(())
    }
}
