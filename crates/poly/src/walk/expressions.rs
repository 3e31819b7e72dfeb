//! Expressions: their values, and their accesses in the order of evaluation.

use super::{Value, Walker};
use crate::facts::{Allocation, Definition, Reference, Stored, Touched};
use crate::sets::{Affine, Result, Set};
use finishline_answer::proof::ReasonKind;
use finishline_fin::hir::{Expression, ExpressionKind, PlaceKind, SharedPlace, StructId, Type};
use finishline_ir::{BinaryOp, CompareOp, Const, MathFunction, UnaryOp};
use finishline_model::{AccessId, AccessKind, AllocationId, SiteId};

/// Factors and divisors beyond this are not affine to us.
const LARGEST_FACTOR: i64 = 1 << 31;

impl Walker<'_> {
    pub(super) fn expression(&mut self, expression: &Expression) -> Result<Value> {
        let site = expression.site;
        match &expression.kind {
            ExpressionKind::Const(constant) => self.constant(*constant),
            ExpressionKind::NewLock { allocation } => {
                Ok(self.allocate(*allocation, expression.ty.clone(), Vec::new()))
            }
            ExpressionKind::NewPromise { allocation } => {
                Ok(self.allocate(*allocation, expression.ty.clone(), Vec::new()))
            }
            ExpressionKind::Get(promise) => self.get(promise, &expression.ty, site),
            ExpressionKind::Future(future) => self.future(future, &expression.ty),
            ExpressionKind::Local(local) => Ok(self.local(*local)),
            ExpressionKind::Load { place, access } => {
                let touched = self.place(place)?;
                self.load(touched, *access, &place.ty)
            }
            ExpressionKind::Unary(op, operand) => {
                let operand = self.expression(operand)?;
                self.unary(*op, operand, &expression.ty, site)
            }
            ExpressionKind::Binary(op, left, right) => {
                let left = self.expression(left)?;
                let right = self.expression(right)?;
                self.binary(*op, left, right, &expression.ty, site)
            }
            ExpressionKind::Compare(op, left, right) => {
                let left = self.expression(left)?;
                let right = self.expression(right)?;
                self.compare(*op, left, right, site)
            }
            ExpressionKind::And(left, right) => {
                let left = self.expression(left)?;
                let left = self.condition(left)?;
                let right = self.only_if(&left, right)?;
                let right = self.condition(right)?;
                Ok(Value::Bool(left.intersect(&right)?))
            }
            ExpressionKind::Or(left, right) => {
                let left = self.expression(left)?;
                let left = self.condition(left)?;
                let right = self.only_if(&left.complement()?, right)?;
                let right = self.condition(right)?;
                Ok(Value::Bool(left.union(&right)?))
            }
            ExpressionKind::Conditional(condition, yes, no) => {
                let condition = self.expression(condition)?;
                let condition = self.condition(condition)?;
                let yes = self.only_if(&condition, yes)?;
                let no = self.only_if(&condition.complement()?, no)?;
                self.choose(&condition, yes, no)
            }
            ExpressionKind::Convert(operand) => {
                let value = self.expression(operand)?;
                self.convert(value, &operand.ty, &expression.ty, site)
            }
            ExpressionKind::Math(function, operands) => {
                let mut values = Vec::new();
                for operand in operands {
                    values.push(self.expression(operand)?);
                }
                self.math(*function, values, &expression.ty, site)
            }
            ExpressionKind::Length { array, dimension } => {
                let ty = &array.ty;
                let array = self.expression(array)?;
                let array = self.reference(array);
                self.length(array, ty, *dimension, site).map(Value::Int)
            }
            ExpressionKind::Call {
                function,
                arguments,
            } => {
                let arguments = self.arguments(arguments)?;
                self.unfold(*function, arguments, site)
            }
            ExpressionKind::NewStruct { layout, allocation } => {
                Ok(self.allocate(*allocation, Type::Struct(*layout), Vec::new()))
            }
            ExpressionKind::NewArray {
                sizes, allocation, ..
            }
            | ExpressionKind::NewLocks {
                sizes, allocation, ..
            } => {
                if let ExpressionKind::NewLocks { .. } = expression.kind {
                    // What its elements refer to is not looked at.
                    self.gap(ReasonKind::Locks, site);
                }
                let mut lengths = Vec::new();
                for size in sizes {
                    let length = self.expression(size)?;
                    let length = self.int(length)?;
                    lengths.push(match sizes.len() {
                        1 => self.exact_number(length, site)?,
                        _ => self.exact(length, site)?,
                    });
                }
                self.allocated(&lengths)?;
                Ok(self.allocate(*allocation, expression.ty.clone(), lengths))
            }
        }
    }

    pub(super) fn arguments(&mut self, arguments: &[Expression]) -> Result<Vec<Value>> {
        arguments
            .iter()
            .map(|argument| self.expression(argument))
            .collect()
    }

    /// An operand that is evaluated only under a condition.
    fn only_if(&mut self, condition: &Set, operand: &Expression) -> Result<Value> {
        let before = self.domain.clone();
        let mut ended = None;
        let value = self.aside(condition, |walker| {
            let value = walker.expression(operand)?;
            ended = Some(walker.domain.clone());
            Ok(value)
        })?;
        // Control does not come back from an operand that fails or never ends.
        if let Some(ended) = ended {
            let stayed = before.intersect(condition)?.subtract(&ended)?;
            if !stayed.is_empty()? {
                self.domain = self.domain.subtract(&stayed)?;
            }
        }
        Ok(value)
    }

    fn constant(&mut self, constant: Const) -> Result<Value> {
        Ok(match constant {
            Const::Int(value) => Value::Int(self.isl.constant(value)?),
            Const::Bool(true) => Value::Bool(self.isl.everything()?),
            Const::Bool(false) => Value::Bool(self.isl.nothing()?),
            Const::Null => Value::Reference(self.facts.new_reference(Reference::Null)),
            Const::Float(value) => Value::Literal(format!("{value:?}")),
            Const::Byte(value) => Value::Literal(value.to_string()),
        })
    }

    pub(super) fn allocate(&mut self, id: AllocationId, ty: Type, sizes: Vec<Affine>) -> Value {
        self.facts.allocations.push(Allocation {
            id,
            loops: self.loops.clone(),
            ty,
            sizes,
        });
        let made = Reference::New(self.facts.allocations.len() - 1);
        Value::Reference(self.facts.new_reference(made))
    }

    /// Evaluates the object and the indices of a place.
    pub(super) fn place(&mut self, place: &SharedPlace) -> Result<Touched> {
        Ok(match &place.kind {
            PlaceKind::Global(global) => Touched::Global(*global),
            PlaceKind::Field { object, field } => {
                let layout = match object.ty {
                    Type::Struct(layout) => layout,
                    _ => StructId(0),
                };
                let object = self.expression(object)?;
                Touched::Field {
                    object: self.reference(object),
                    layout,
                    field: *field,
                }
            }
            PlaceKind::Element { array, indices } => {
                let ty = array.ty.clone();
                let array = self.expression(array)?;
                let array = self.reference(array);
                let mut affine = Vec::new();
                for index in indices {
                    let value = self.expression(index)?;
                    let value = self.int(value)?;
                    affine.push(self.exact_number(value, place.site)?);
                }
                Touched::Element {
                    array,
                    ty,
                    indices: affine,
                }
            }
        })
    }

    /// A read, and what is known of what was read.
    pub(super) fn load(&mut self, place: Touched, id: AccessId, ty: &Type) -> Result<Value> {
        let access = self.access(id, AccessKind::Read, place, Stored::Nothing)?;
        let site = self.program.source.access(id).place;
        Ok(match ty {
            _ if ty.is_reference() => {
                Value::Reference(self.facts.new_reference(Reference::Loaded(access)))
            }
            Type::Int => {
                let definition = Definition::Read(access);
                let symbol = self.new_value(definition, ReasonKind::Indirect, site);
                Value::Int(self.isl.symbol(symbol)?)
            }
            _ => Value::Unknown(ReasonKind::DataDependent, site),
        })
    }

    /// The length of an array. That of one from elsewhere is found out later.
    fn length(&mut self, array: usize, ty: &Type, dimension: u32, site: SiteId) -> Result<Affine> {
        if let Reference::New(allocation) = self.facts.references[array] {
            let sizes = &self.facts.allocations[allocation].sizes;
            return Ok(sizes[dimension as usize].clone());
        }
        let definition = Definition::Length(array, ty.clone(), dimension);
        let symbol = self.new_value(definition, ReasonKind::Aliasing, site);
        self.isl.symbol(symbol)
    }

    fn unary(&mut self, op: UnaryOp, operand: Value, ty: &Type, site: SiteId) -> Result<Value> {
        Ok(match (op, operand) {
            (UnaryOp::Negate, Value::Int(value)) => Value::Int(value.neg()?),
            (UnaryOp::Not, Value::Int(value)) => {
                Value::Int(value.neg()?.sub(&self.isl.constant(1)?)?)
            }
            (UnaryOp::Not, value) if *ty == Type::Bool => {
                Value::Bool(self.condition(value)?.complement()?)
            }
            (_, Value::Unknown(reason, site)) => Value::Unknown(reason, site),
            _ => Value::Unknown(ReasonKind::DataDependent, site),
        })
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: Value,
        right: Value,
        ty: &Type,
        site: SiteId,
    ) -> Result<Value> {
        match ty {
            Type::Int => {
                let left = self.int(left)?;
                let right = self.int(right)?;
                match self.arithmetic(op, left, right, site)? {
                    Some(value) => Ok(Value::Int(value)),
                    None => Ok(Value::Unknown(ReasonKind::NonAffine, site)),
                }
            }
            Type::Bool => {
                let left = self.condition(left)?;
                let right = self.condition(right)?;
                Ok(Value::Bool(match op {
                    BinaryOp::And => left.intersect(&right)?,
                    BinaryOp::Or => left.union(&right)?,
                    _ => left.subtract(&right)?.union(&right.subtract(&left)?)?,
                }))
            }
            _ => Ok(Value::Unknown(ReasonKind::DataDependent, site)),
        }
    }

    /// Integer arithmetic, where it is affine.
    fn arithmetic(
        &mut self,
        op: BinaryOp,
        left: Affine,
        right: Affine,
        site: SiteId,
    ) -> Result<Option<Affine>> {
        let small = |value: &Affine| {
            let constant = value.as_constant()?;
            Ok(constant.filter(|value| value.unsigned_abs() <= LARGEST_FACTOR.unsigned_abs()))
        };
        Ok(Some(match op {
            BinaryOp::Add => left.add(&right)?,
            BinaryOp::Subtract => left.sub(&right)?,
            BinaryOp::Multiply => match (small(&left)?, small(&right)?) {
                (_, Some(factor)) => left.scale(factor)?,
                (Some(factor), None) => right.scale(factor)?,
                (None, None) => return Ok(None),
            },
            BinaryOp::Divide => match small(&right)? {
                Some(0) | None => return Ok(None),
                Some(by) => {
                    let left = self.exact(left, site)?;
                    self.truncated(&left, by)?
                }
            },
            BinaryOp::Remainder => match small(&right)? {
                Some(0) | None => return Ok(None),
                Some(by) => {
                    let left = self.exact(left, site)?;
                    left.sub(&self.truncated(&left, by)?.scale(by)?)?
                }
            },
            // Shifts use the low 6 bits of the count.
            BinaryOp::ShiftLeft => match right.as_constant()? {
                Some(by) => left.scale(1 << (by & 63))?,
                None => return Ok(None),
            },
            BinaryOp::ShiftRight => match right.as_constant()?.map(|by| by & 63) {
                None | Some(63) => return Ok(None),
                Some(by) => self.exact(left, site)?.floor_divide(1 << by)?,
            },
            // The low bits.
            BinaryOp::And => match (small(&left)?, small(&right)?) {
                (_, Some(mask)) if mask >= 0 && (mask + 1) & mask == 0 => left.modulo(mask + 1)?,
                (Some(mask), _) if mask >= 0 && (mask + 1) & mask == 0 => right.modulo(mask + 1)?,
                _ => return Ok(None),
            },
            BinaryOp::Or | BinaryOp::Xor | BinaryOp::ShiftRightLogical => return Ok(None),
        }))
    }

    /// The quotient, rounded towards zero.
    fn truncated(&mut self, value: &Affine, by: i64) -> Result<Affine> {
        if by == -1 && !self.fits {
            // The least integer has no opposite: such a division fails.
            let fails = value.at_most(&self.isl.constant(i64::MIN)?)?;
            self.domain = self.domain.subtract(&fails)?;
        }
        let (value, by) = if by < 0 {
            (value.neg()?, -by)
        } else {
            (value.clone(), by)
        };
        let down = value.floor_divide(by)?;
        let positive = self.isl.constant(0)?.at_most(&value)?;
        if self.domain.is_subset(&positive)? {
            return Ok(down);
        }
        let up = value.neg()?.floor_divide(by)?.neg()?;
        Affine::select(&positive, &down, &up)
    }

    fn compare(&mut self, op: CompareOp, left: Value, right: Value, site: SiteId) -> Result<Value> {
        Ok(match (left, right) {
            (Value::Int(left), Value::Int(right)) => {
                let left = self.exact(left, site)?;
                let right = self.exact(right, site)?;
                Value::Bool(match op {
                    CompareOp::Equal => left.equals(&right)?,
                    CompareOp::NotEqual => left.differs(&right)?,
                    CompareOp::Less => left.less(&right)?,
                    CompareOp::LessEqual => left.at_most(&right)?,
                    CompareOp::Greater => right.less(&left)?,
                    CompareOp::GreaterEqual => right.at_most(&left)?,
                })
            }
            (Value::Bool(left), Value::Bool(right)) => {
                let differ = left.subtract(&right)?.union(&right.subtract(&left)?)?;
                Value::Bool(match op {
                    CompareOp::Equal => differ.complement()?,
                    _ => differ,
                })
            }
            (Value::Unknown(reason, site), _) | (_, Value::Unknown(reason, site)) => {
                Value::Unknown(reason, site)
            }
            _ => Value::Unknown(ReasonKind::DataDependent, site),
        })
    }

    fn convert(&mut self, value: Value, from: &Type, to: &Type, site: SiteId) -> Result<Value> {
        if from == to {
            return Ok(value);
        }
        Ok(match (value, to) {
            (Value::Bool(condition), Type::Int) => {
                let (one, zero) = (self.isl.constant(1)?, self.isl.constant(0)?);
                Value::Int(Affine::select(&condition, &one, &zero)?)
            }
            (Value::Literal(text), Type::Int) => match text.parse::<i64>() {
                Ok(value) => Value::Int(self.isl.constant(value)?),
                Err(_) => Value::Unknown(ReasonKind::NonAffine, site),
            },
            (Value::Unknown(reason, site), _) => Value::Unknown(reason, site),
            _ => Value::Unknown(ReasonKind::NonAffine, site),
        })
    }

    fn math(
        &mut self,
        function: MathFunction,
        mut operands: Vec<Value>,
        ty: &Type,
        site: SiteId,
    ) -> Result<Value> {
        if *ty != Type::Int {
            return Ok(Value::Unknown(ReasonKind::DataDependent, site));
        }
        let Some(last) = operands.pop() else {
            return Ok(Value::Unknown(ReasonKind::NonAffine, site));
        };
        let last = self.int(last)?;
        let last = self.exact(last, site)?;
        let first = match operands.pop() {
            Some(first) => {
                let first = self.int(first)?;
                Some(self.exact(first, site)?)
            }
            None => None,
        };
        Ok(Value::Int(match (function, first) {
            (MathFunction::Abs, None) => last.max(&last.neg()?)?,
            (MathFunction::Min, Some(first)) => first.min(&last)?,
            (MathFunction::Max, Some(first)) => first.max(&last)?,
            _ => return Ok(Value::Unknown(ReasonKind::NonAffine, site)),
        }))
    }
}
