//! Sets of integers and piecewise affine values, by isl: the few operations that the prover needs.
//!
//! A [`Set`] is a condition on [`Symbol`]s, as a union of systems of linear equations and inequalities, in which divisions
//! by constants may occur; an [`Affine`] is a value in terms of symbols, by pieces. isl sees every symbol as a
//! parameter, which it matches by name, so sets over different symbols can be combined as they are.
//!
//! Every operation is exact, and may take long; it ends with [`Stop::OutOfTime`] when the [`Clock`] of the context says so.

use crate::symbols::{Naming, Symbol};
use isl_rs as isl;
use isl_rs::DimType;
use std::fmt;
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

    pub(crate) fn constant(&self, value: i64) -> Result<Affine> {
        let text = format!("{{ [({value})] }}");
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

    /// From now on all operations together take no longer than this, until the clock is dropped.
    pub(crate) fn clock(&self, limit: Duration) -> Clock<'_> {
        let watched = isl::Context {
            ptr: self.context.ptr,
            should_free_on_drop: false,
        };
        let (over, waits) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            if waits.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                watched.set_max_operations(SPENT);
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

/// A time limit. isl counts operations in its innermost loops and stops when there were too many, so the watching thread
/// makes the budget small. (isl also knows `abort`, but then has no message, which its Rust wrapper does not expect.)
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

fn is_over(context: &isl::Context) -> bool {
    context.get_max_operations() == SPENT
}

fn stop(context: &isl::Context, error: &isl::LibISLError) -> Stop {
    context.reset_error();
    if is_over(context) {
        Stop::OutOfTime
    } else {
        Stop::Failed(error.to_string())
    }
}

/// What isl hands out: null if it failed, sometimes without telling why.
trait Handle {
    fn is_null(&self) -> bool;
}

macro_rules! handles {
    ($($name:ident)*) => { $(
        impl Handle for isl::$name {
            fn is_null(&self) -> bool {
                self.ptr == 0
            }
        }
    )* };
}

handles! { Set PwAff Val Id BasicSet BasicSetList Mat }

fn checked<T: Handle>(
    context: &isl::Context,
    result: std::result::Result<T, isl::LibISLError>,
) -> Result<T> {
    match result {
        Ok(made) if !made.is_null() => Ok(made),
        Ok(_) if is_over(context) => Err(Stop::OutOfTime),
        Ok(_) => Err(Stop::Failed("isl gave no result".to_string())),
        Err(error) => Err(stop(context, &error)),
    }
}

macro_rules! wrapper {
    ($(#[$note:meta])* $name:ident, $inner:ident) => {
        $(#[$note])*
        pub(crate) struct $name(isl::$inner);

        impl $name {
            /// Another handle of the same value, for an operation that takes it.
            fn take(&self) -> Result<isl::$inner> {
                self.done(self.0.copy())
            }

            /// What was made of it.
            fn done<T: Handle>(
                &self,
                result: std::result::Result<T, isl::LibISLError>,
            ) -> Result<T> {
                checked(&self.0.get_ctx(), result)
            }

            /// What was found out about it.
            fn told<T>(&self, result: std::result::Result<T, isl::LibISLError>) -> Result<T> {
                result.map_err(|error| stop(&self.0.get_ctx(), &error))
            }
        }

        impl Clone for $name {
            /// Never fails: isl counts references.
            fn clone(&self) -> $name {
                $name(self.0.copy().expect("a value can be shared"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0.to_str().unwrap_or("?"))
            }
        }
    };
}

wrapper! {
    /// A condition on symbols.
    Set, Set
}
wrapper! {
    /// A value in terms of symbols. Where none of its pieces holds it has no value.
    Affine, PwAff
}

impl Set {
    pub(crate) fn intersect(&self, other: &Set) -> Result<Set> {
        self.done(self.take()?.intersect(other.take()?)).map(Set)
    }

    pub(crate) fn union(&self, other: &Set) -> Result<Set> {
        self.done(self.take()?.union(other.take()?)).map(Set)
    }

    pub(crate) fn subtract(&self, other: &Set) -> Result<Set> {
        self.done(self.take()?.subtract(other.take()?)).map(Set)
    }

    pub(crate) fn complement(&self) -> Result<Set> {
        self.done(self.take()?.complement()).map(Set)
    }

    /// The same set, of fewer pieces if that is easily seen.
    pub(crate) fn coalesce(&self) -> Result<Set> {
        self.done(self.take()?.coalesce()).map(Set)
    }

    /// A simpler set that is the same wherever `context` holds.
    pub(crate) fn gist(&self, context: &Set) -> Result<Set> {
        self.done(self.take()?.gist(context.take()?)).map(Set)
    }

    pub(crate) fn is_empty(&self) -> Result<bool> {
        self.told(self.0.is_empty())
    }

    pub(crate) fn is_subset(&self, other: &Set) -> Result<bool> {
        self.told(self.0.is_subset(&other.0))
    }

    #[cfg(test)]
    fn is_equal(&self, other: &Set) -> Result<bool> {
        self.told(self.0.is_equal(&other.0))
    }

    /// All symbols that occur, whether or not they matter.
    pub(crate) fn symbols(&self) -> Result<Vec<Symbol>> {
        let count = self.told(self.0.dim(DimType::Param))?;
        let name = |at| {
            let name = self.told(self.0.get_dim_name(DimType::Param, at))?;
            Symbol::from_name(name).ok_or_else(|| Stop::Failed(format!("{name} is no symbol")))
        };
        (0..count as u32).map(name).collect()
    }

    fn position(&self, symbol: Symbol) -> Result<Option<u32>> {
        let at = self.told((self.0).find_dim_by_name(DimType::Param, &symbol.to_string()))?;
        Ok(u32::try_from(at).ok())
    }

    /// Whether the condition depends on the symbol.
    pub(crate) fn involves(&self, symbol: Symbol) -> Result<bool> {
        match self.position(symbol)? {
            Some(at) => self.told(self.0.involves_dims(DimType::Param, at, 1)),
            None => Ok(false),
        }
    }

    /// The condition with each symbol replaced by another that does not occur in it.
    pub(crate) fn rename(&self, renamed: impl Naming) -> Result<Set> {
        let mut set = self.take()?;
        let symbols = self.symbols()?;
        let mut names: Vec<Symbol> = symbols.iter().map(|it| renamed.name(*it)).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Stop::Failed("two symbols of one name".to_string()));
        }
        for (at, symbol) in symbols.into_iter().enumerate() {
            let name = renamed.name(symbol);
            if name != symbol {
                let set_name = set.set_dim_name(DimType::Param, at as u32, &name.to_string());
                set = self.done(set_name)?;
            }
        }
        Ok(Set(set))
    }

    /// For some value of these symbols the condition holds.
    pub(crate) fn exists(&self, forgotten: impl Fn(Symbol) -> bool) -> Result<Set> {
        let mut set = self.take()?;
        let symbols = self.symbols()?;
        for (at, symbol) in symbols.into_iter().enumerate().rev() {
            if forgotten(symbol) {
                set = self.done(set.project_out(DimType::Param, at as u32, 1))?;
            }
        }
        Ok(Set(set))
    }

    /// The least value of a symbol in terms of the others.
    pub(crate) fn least(&self, symbol: Symbol) -> Result<Affine> {
        let tuple = self.tuple(&[symbol])?;
        let least = self.done(tuple.dim_min(0))?;
        self.done(least.project_domain_on_params()).map(Affine)
    }

    /// The greatest value of a symbol in terms of the others.
    pub(crate) fn greatest(&self, symbol: Symbol) -> Result<Affine> {
        let tuple = self.tuple(&[symbol])?;
        let greatest = self.done(tuple.dim_max(0))?;
        self.done(greatest.project_domain_on_params()).map(Affine)
    }

    /// The set of tuples of these symbols, the others staying symbols.
    pub(crate) fn tuple(&self, symbols: &[Symbol]) -> Result<isl::Set> {
        let mut set = self.done(self.take()?.from_params())?;
        for (dimension, symbol) in symbols.iter().enumerate() {
            let name = symbol.to_string();
            let at = self.told(set.find_dim_by_name(DimType::Param, &name))?;
            let dimension = dimension as u32;
            set = self.done(match u32::try_from(at) {
                Ok(at) => set.move_dims(DimType::Set, dimension, DimType::Param, at, 1),
                Err(_) => set.insert_dims(DimType::Set, dimension, 1),
            })?;
        }
        Ok(set)
    }
}

/// A conjunction of linear conditions on integers: the symbols of a set in their order, then others that exist.
pub(crate) struct System {
    /// How many integers it speaks of.
    pub(crate) integers: usize,
    pub(crate) conditions: Vec<Linear>,
}

/// A constant plus multiples of integers is 0, or at least 0.
pub(crate) struct Linear {
    pub(crate) constant: i64,
    pub(crate) factors: Vec<i64>,
    pub(crate) is_zero: bool,
}

impl Set {
    /// The set in numbers: one of these systems holds.
    pub(crate) fn systems(&self) -> Result<Vec<System>> {
        let pieces = self.done(self.0.get_basic_set_list())?;
        let count = self.told(self.0.n_basic_set())?;
        (0..count)
            .map(|at| self.system(&self.done(pieces.get_at(at))?))
            .collect()
    }

    fn system(&self, piece: &isl::BasicSet) -> Result<System> {
        use DimType::{Cst, Div, Param, Set};
        let mut system = System {
            integers: 0,
            conditions: Vec::new(),
        };
        for is_zero in [true, false] {
            let matrix = self.done(match is_zero {
                true => piece.equalities_matrix(Cst, Param, Set, Div),
                false => piece.inequalities_matrix(Cst, Param, Set, Div),
            })?;
            let (rows, columns) = (self.told(matrix.rows())?, self.told(matrix.cols())?);
            system.integers = columns as usize - 1;
            for row in 0..rows {
                let entry = |column| {
                    let value = self.done(matrix.get_element_val(row, column))?;
                    self.told(value.get_num_si())
                };
                system.conditions.push(Linear {
                    constant: entry(0)?,
                    factors: (1..columns).map(entry).collect::<Result<_>>()?,
                    is_zero,
                });
            }
        }
        Ok(system)
    }
}

/// What people read: the text that isl prints for a set or value, its symbols called by names.
impl Set {
    /// The condition in words; empty if it always holds.
    pub(crate) fn text(&self, name: impl Fn(Symbol) -> String) -> Result<String> {
        let mut set = self.done(self.take()?.coalesce())?;
        for (at, symbol) in self.symbols()?.into_iter().enumerate() {
            set = self.done(set.set_dim_name(DimType::Param, at as u32, &name(symbol)))?;
        }
        let text = self.told(set.to_str())?;
        let inside = text.split_once('{').map_or("", |(_, rest)| rest);
        let condition = inside.split_once(':').map_or("", |(_, rest)| rest);
        Ok(condition.trim_end_matches('}').trim().to_string())
    }

    /// The least integers for these symbols of some point of the set, the first symbol's first; none if there is none, or
    /// no least.
    pub(crate) fn least_point(&self, symbols: &[Symbol]) -> Result<Option<Vec<i64>>> {
        let wanted = self.exists(|symbol| !symbols.contains(&symbol))?;
        let tuple = wanted.tuple(symbols)?;
        let Ok(least) = tuple.lexmin() else {
            return Ok(None);
        };
        let Ok(point) = least.sample_point() else {
            return Ok(None);
        };
        let coordinate = |at| {
            let value = point.get_coordinate_val(DimType::Set, at).ok()?;
            value.get_num_si().ok()
        };
        Ok((0..symbols.len() as i32).map(coordinate).collect())
    }
}

impl Affine {
    /// The value in words, if it is one piece.
    pub(crate) fn text(&self, name: impl Fn(Symbol) -> String) -> Result<Option<String>> {
        let value = self.done(self.take()?.coalesce())?;
        if self.told(value.n_piece())? != 1 {
            return Ok(None);
        }
        let mut value = value;
        for (at, symbol) in self.symbols()?.into_iter().enumerate() {
            let id = isl::Id::read_from_str(&self.0.get_ctx(), &name(symbol));
            value = self.done(value.set_dim_id(DimType::Param, at as u32, self.done(id)?))?;
        }
        let text = self.told(value.to_str())?;
        let inside = text
            .split_once("[(")
            .and_then(|(_, rest)| rest.split_once(")]"));
        Ok(inside.map(|(expression, _)| expression.to_string()))
    }

    pub(crate) fn add(&self, other: &Affine) -> Result<Affine> {
        self.done(self.take()?.add(other.take()?)).map(Affine)
    }

    pub(crate) fn sub(&self, other: &Affine) -> Result<Affine> {
        self.done(self.take()?.sub(other.take()?)).map(Affine)
    }

    pub(crate) fn neg(&self) -> Result<Affine> {
        self.done(self.take()?.neg()).map(Affine)
    }

    fn value(&self, value: i64) -> Result<isl::Val> {
        self.done(isl::Val::int_from_si(&self.0.get_ctx(), value))
    }

    pub(crate) fn scale(&self, factor: i64) -> Result<Affine> {
        let factor = self.value(factor)?;
        self.done(self.take()?.scale_val(factor)).map(Affine)
    }

    /// The quotient by a positive constant, rounded down.
    pub(crate) fn floor_divide(&self, by: i64) -> Result<Affine> {
        let by = self.value(by)?;
        let scaled = self.done(self.take()?.scale_down_val(by))?;
        self.done(scaled.floor()).map(Affine)
    }

    /// The remainder by a positive constant, never negative.
    pub(crate) fn modulo(&self, by: i64) -> Result<Affine> {
        let by = self.value(by)?;
        self.done(self.take()?.mod_val(by)).map(Affine)
    }

    pub(crate) fn min(&self, other: &Affine) -> Result<Affine> {
        self.done(self.take()?.min(other.take()?)).map(Affine)
    }

    pub(crate) fn max(&self, other: &Affine) -> Result<Affine> {
        self.done(self.take()?.max(other.take()?)).map(Affine)
    }

    /// The value restricted to where a condition holds.
    pub(crate) fn when(&self, condition: &Set) -> Result<Affine> {
        self.done(self.take()?.intersect_params(condition.take()?))
            .map(Affine)
    }

    /// A simpler value that is the same wherever `context` holds.
    pub(crate) fn gist(&self, context: &Set) -> Result<Affine> {
        self.done(self.take()?.gist_params(context.take()?))
            .map(Affine)
    }

    /// This value or, where it has none, the other.
    pub(crate) fn or(&self, other: &Affine) -> Result<Affine> {
        self.done(self.take()?.union_add(other.take()?)).map(Affine)
    }

    /// `condition ? yes : no`.
    pub(crate) fn select(condition: &Set, yes: &Affine, no: &Affine) -> Result<Affine> {
        let joined = yes
            .when(condition)?
            .or(&no.when(&condition.complement()?)?)?;
        joined.done(joined.take()?.coalesce()).map(Affine)
    }

    pub(crate) fn less(&self, other: &Affine) -> Result<Set> {
        self.done(self.take()?.lt_set(other.take()?))
            .and_then(params)
    }

    pub(crate) fn at_most(&self, other: &Affine) -> Result<Set> {
        self.done(self.take()?.le_set(other.take()?))
            .and_then(params)
    }

    pub(crate) fn equals(&self, other: &Affine) -> Result<Set> {
        self.done(self.take()?.eq_set(other.take()?))
            .and_then(params)
    }

    pub(crate) fn differs(&self, other: &Affine) -> Result<Set> {
        self.done(self.take()?.ne_set(other.take()?))
            .and_then(params)
    }

    /// `symbol = self`.
    pub(crate) fn bind(&self, isl: &Isl, symbol: Symbol) -> Result<Set> {
        isl.symbol(symbol)?.equals(self)
    }

    pub(crate) fn is_equal(&self, other: &Affine) -> Result<bool> {
        self.told(self.0.is_equal(&other.0))
    }

    /// The value, if it is one and the same everywhere.
    pub(crate) fn as_constant(&self) -> Result<Option<i64>> {
        if !self.told(self.0.is_cst())? || self.pieces()? != 1 {
            return Ok(None);
        }
        let value = self.done(self.take()?.max_val())?;
        Ok(value.to_str().ok().and_then(|text| text.parse().ok()))
    }

    pub(crate) fn pieces(&self) -> Result<usize> {
        Ok(self.told(self.0.n_piece())?.max(0) as usize)
    }

    pub(crate) fn symbols(&self) -> Result<Vec<Symbol>> {
        let count = self.told(self.0.dim(DimType::Param))?;
        let name = |at| {
            let name = self.told(self.0.get_dim_name(DimType::Param, at))?;
            Symbol::from_name(name).ok_or_else(|| Stop::Failed(format!("{name} is no symbol")))
        };
        (0..count as u32).map(name).collect()
    }

    /// The same value in terms of other symbols.
    pub(crate) fn rename(&self, renamed: impl Naming) -> Result<Affine> {
        let mut value = self.take()?;
        for (at, symbol) in self.symbols()?.into_iter().enumerate() {
            let name = renamed.name(symbol);
            if name != symbol {
                let id = isl::Id::read_from_str(&self.0.get_ctx(), &name.to_string());
                value = self.done(value.set_dim_id(DimType::Param, at as u32, self.done(id)?))?;
            }
        }
        Ok(Affine(value))
    }
}

/// Comparisons of values without dimensions are conditions on symbols.
fn params(set: isl::Set) -> Result<Set> {
    let context = set.get_ctx();
    checked(&context, set.params()).map(Set)
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
    fn a_clock_ends_what_takes_too_long() -> Result<()> {
        let isl = Isl::new();
        let clock = isl.clock(Duration::ZERO);
        thread::sleep(Duration::from_millis(20));
        let (n, i) = (isl.symbol(N), isl.symbol(I));
        let condition = n.and_then(|n| n.less(&i?)?.is_empty());
        assert_eq!(condition, Err(Stop::OutOfTime));
        drop(clock);
        assert!(!isl.symbol(N)?.less(&isl.symbol(I)?)?.is_empty()?);
        Ok(())
    }
}
