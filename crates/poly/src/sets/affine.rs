//! Values in terms of symbols.

use super::handle::{Handle, checked, printed, stop, wrapper};
use super::set::Set;
use super::{Isl, Result, Stop};
use crate::symbols::{Naming, Symbol};
use finishline_isl as isl;
use finishline_isl::DimType;

wrapper! {
    /// A value in terms of symbols. Where none of its pieces holds it has no value.
    Affine, PwAff
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
        let text = printed(&self.0.get_ctx(), || value.to_str().map(str::to_string))?;
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
        let text = printed(&self.0.get_ctx(), || value.to_str().map(str::to_string))?;
        Ok(text.parse().ok())
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

    /// Whether the value depends on the symbol.
    pub(crate) fn involves(&self, symbol: Symbol) -> Result<bool> {
        let at = (self.symbols()?.iter()).position(|other| *other == symbol);
        match at {
            Some(at) => self.told(self.0.involves_dims(DimType::Param, at as u32, 1)),
            None => Ok(false),
        }
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
