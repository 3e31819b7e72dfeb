//! Conditions on symbols.

use super::affine::Affine;
use super::handle::{Handle, checked, printed, stop, wrapper};
use super::{Result, Stop};
use crate::symbols::{Naming, Symbol};
use finishline_isl as isl;
use finishline_isl::DimType;

wrapper! {
    /// A condition on symbols.
    Set, Set
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

    /// What a growing set may grow to: all that satisfies those conditions of this set that still
    /// hold for a larger one.
    pub(crate) fn widened(&self, larger: &Set) -> Result<Set> {
        let own = self.done(isl::SetList::from_set(self.take()?))?;
        let hull = self.done(larger.take()?.unshifted_simple_hull_from_set_list(own))?;
        self.done(hull.to_set()).map(Set)
    }

    pub(crate) fn is_empty(&self) -> Result<bool> {
        self.told(self.0.is_empty())
    }

    pub(crate) fn is_subset(&self, other: &Set) -> Result<bool> {
        self.told(self.0.is_subset(&other.0))
    }

    #[cfg(test)]
    pub(crate) fn is_equal(&self, other: &Set) -> Result<bool> {
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

/// A conjunction of linear conditions on integers: the symbols of a set in their order, then others
/// that exist.
pub(crate) struct System {
    /// How many integers it speaks of.
    pub(crate) integers: usize,
    pub(crate) conditions: Vec<Linear>,
}

/// A constant plus multiples of integers is 0, or at least 0.
pub(crate) struct Linear {
    pub(crate) constant: i128,
    pub(crate) factors: Vec<i128>,
    pub(crate) is_zero: bool,
}

impl Set {
    /// The set in numbers: one of these systems holds. None if a number is so large that sums of
    /// products with 64-bit integers may not fit 128 bits.
    pub(crate) fn systems(&self) -> Result<Option<Vec<System>>> {
        let pieces = self.done(self.0.get_basic_set_list())?;
        let count = self.told(self.0.n_basic_set())?;
        (0..count)
            .map(|at| self.system(&self.done(pieces.get_at(at))?))
            .collect()
    }

    fn system(&self, piece: &isl::BasicSet) -> Result<Option<System>> {
        /// Products with 64-bit integers leave room for 64 terms.
        const LARGEST: u128 = 1 << 57;
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
                    let print = || value.to_str().map(str::to_string);
                    let text = printed(&self.0.get_ctx(), print)?;
                    Ok(text.parse().ok())
                };
                let numbers = (0..columns)
                    .map(entry)
                    .collect::<Result<Option<Vec<i128>>>>()?;
                let Some([constant, factors @ ..]) = numbers.as_deref() else {
                    return Ok(None);
                };
                if factors.iter().any(|it| it.unsigned_abs() > LARGEST) {
                    return Ok(None);
                }
                system.conditions.push(Linear {
                    constant: *constant,
                    factors: factors.to_vec(),
                    is_zero,
                });
            }
        }
        Ok(Some(system))
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
        let text = printed(&self.0.get_ctx(), || set.to_str().map(str::to_string))?;
        let inside = text.split_once('{').map_or("", |(_, rest)| rest);
        let condition = inside.split_once(':').map_or("", |(_, rest)| rest);
        Ok(condition.trim_end_matches('}').trim().to_string())
    }

    /// The least integers for these symbols of some point of the set, the first symbol's first;
    /// none if there is none, or no least.
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
