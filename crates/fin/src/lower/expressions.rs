//! Expressions and places.

use super::FunctionLowering;
use crate::hir::{self, Expression, ExpressionKind, PlaceKind, SharedPlace};
use finishline_ir::{Const, Op, Operand, Type, Value};
use finishline_model::{AccessId, AccessKind, SiteId};

/// A place whose array, indices or object are evaluated, but not yet checked.
pub(super) enum Evaluated {
    Global(u32),
    Field { object: Value, field: u32 },
    Element { array: Value, indices: Vec<Value> },
}

impl FunctionLowering<'_> {
    pub(super) fn expression(&mut self, expression: &Expression) -> Value {
        let (ty, site) = (expression.ty.ir(), expression.site);
        match &expression.kind {
            ExpressionKind::Const(value) => self.value(Op::Const(*value), ty, site),
            ExpressionKind::Local(local) => self.builder.get(*local),
            ExpressionKind::Load { place, access } => {
                let evaluated = self.evaluate(place);
                let (base, offset) = self.checked(evaluated, place.site);
                self.load(base, offset, ty, *access, site)
            }
            ExpressionKind::Unary(op, operand) => {
                let operand = self.expression(operand);
                self.value(Op::Unary(*op, operand), ty, site)
            }
            ExpressionKind::Binary(op, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                self.value(Op::Binary(*op, left, right), ty, site)
            }
            ExpressionKind::Compare(op, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                self.value(Op::Compare(*op, left, right), ty, site)
            }
            ExpressionKind::And(left, right) => self.choice(
                left,
                ty,
                |lowering| lowering.expression(right),
                |lowering| lowering.bool(false),
            ),
            ExpressionKind::Or(left, right) => self.choice(
                left,
                ty,
                |lowering| lowering.bool(true),
                |lowering| lowering.expression(right),
            ),
            ExpressionKind::Conditional(condition, then, otherwise) => self.choice(
                condition,
                ty,
                |lowering| lowering.expression(then),
                |lowering| lowering.expression(otherwise),
            ),
            ExpressionKind::Convert(operand) => {
                let operand = self.expression(operand);
                self.value(Op::Convert(operand, ty), ty, site)
            }
            ExpressionKind::Math(function, arguments) => {
                let arguments = self.expressions(arguments);
                self.value(Op::Math(*function, arguments), ty, site)
            }
            ExpressionKind::Length { array, dimension } => {
                let array = self.expression(array);
                self.value(
                    Op::Length {
                        array,
                        dimension: *dimension,
                    },
                    ty,
                    site,
                )
            }
            ExpressionKind::Call {
                function,
                arguments,
            } => {
                let arguments = self.expressions(arguments);
                self.value(
                    Op::Call {
                        function: *function,
                        arguments,
                    },
                    ty,
                    site,
                )
            }
            ExpressionKind::NewStruct { layout, allocation } => self.value(
                Op::NewStruct {
                    layout: *layout,
                    allocation: *allocation,
                },
                ty,
                site,
            ),
            ExpressionKind::NewArray {
                element,
                sizes,
                allocation,
            } => {
                let sizes = self.expressions(sizes);
                self.value(
                    Op::NewArray {
                        element: element.ir(),
                        sizes,
                        allocation: *allocation,
                    },
                    ty,
                    site,
                )
            }
            ExpressionKind::NewLock { allocation } => self.new_lock(*allocation, site),
            ExpressionKind::NewLocks {
                sizes,
                allocation,
                of_lock,
                access,
            } => {
                let sizes = self.expressions(sizes);
                self.new_locks(sizes, *allocation, *of_lock, *access, site)
            }
            ExpressionKind::NewPromise { allocation } => {
                self.new_promise(&expression.ty, *allocation, site)
            }
            ExpressionKind::Get(promise) => {
                let promise = self.expression(promise);
                self.emit(Op::NonNull(promise), site);
                self.value(Op::PromiseGet(promise), ty, site)
            }
            ExpressionKind::Future(future) => self.future(future, &expression.ty, site),
        }
    }

    pub(super) fn expressions(&mut self, expressions: &[Expression]) -> Vec<Value> {
        expressions
            .iter()
            .map(|expression| self.expression(expression))
            .collect()
    }

    fn bool(&mut self, value: bool) -> Value {
        self.value(Op::Const(Const::Bool(value)), Type::Bool, SiteId(0))
    }

    /// One of two values. Each is computed only if it is needed.
    fn choice(
        &mut self,
        condition: &Expression,
        ty: Type,
        then: impl FnOnce(&mut Self) -> Value,
        otherwise: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let condition = self.expression(condition);
        let blocks = [
            self.builder.new_block(),
            self.builder.new_block(),
            self.builder.new_block(),
        ];
        let [then_block, otherwise_block, join] = blocks;
        let result = self.builder.parameter(join, ty);
        self.builder.branch(condition, then_block, otherwise_block);
        self.builder.start(then_block);
        let value = then(self);
        self.builder.jump(join, vec![value]);
        self.builder.start(otherwise_block);
        let value = otherwise(self);
        self.builder.jump(join, vec![value]);
        self.builder.start(join);
        result
    }

    /// Evaluates the parts of a place, from left to right.
    pub(super) fn evaluate(&mut self, place: &SharedPlace) -> Evaluated {
        match &place.kind {
            PlaceKind::Global(global) => Evaluated::Global(global.0),
            PlaceKind::Field { object, field } => Evaluated::Field {
                object: self.expression(object),
                field: *field,
            },
            PlaceKind::Element { array, indices } => {
                let array = self.expression(array);
                Evaluated::Element {
                    array,
                    indices: self.expressions(indices),
                }
            }
        }
    }

    /// Adds null and bounds checks. Returns the base and offset of the location.
    pub(super) fn checked(&mut self, place: Evaluated, site: SiteId) -> (Value, Operand) {
        match place {
            Evaluated::Global(global) => {
                let base = self.value(Op::Globals, Type::Ref, site);
                (base, Operand::Constant(i64::from(global)))
            }
            Evaluated::Field { object, field } => {
                self.emit(Op::NonNull(object), site);
                (object, Operand::Constant(i64::from(field)))
            }
            Evaluated::Element { array, indices } => {
                let offset = self.value(Op::Index { array, indices }, Type::Int, site);
                (array, Operand::Value(offset))
            }
        }
    }

    pub(super) fn check(
        &mut self,
        kind: AccessKind,
        base: Value,
        first: Operand,
        access: AccessId,
        site: SiteId,
    ) {
        let one = Operand::Constant(1);
        self.emit(
            Op::Check {
                kind,
                base,
                first,
                count: one,
                stride: one,
                access,
            },
            site,
        );
    }

    pub(super) fn load(
        &mut self,
        base: Value,
        offset: Operand,
        ty: Type,
        access: AccessId,
        site: SiteId,
    ) -> Value {
        self.check(AccessKind::Read, base, offset, access, site);
        self.value(
            Op::Load {
                base,
                offset,
                access,
            },
            ty,
            site,
        )
    }

    pub(super) fn store(
        &mut self,
        base: Value,
        offset: Operand,
        value: Value,
        access: AccessId,
        site: SiteId,
    ) {
        self.check(AccessKind::Write, base, offset, access, site);
        self.emit(
            Op::Store {
                base,
                offset,
                value,
                access,
            },
            site,
        );
    }

    /// A call whose result is dropped.
    pub(super) fn call_statement(&mut self, call: &Expression) {
        let ExpressionKind::Call {
            function,
            arguments,
        } = &call.kind
        else {
            self.expression(call);
            return;
        };
        let arguments = self.expressions(arguments);
        let op = Op::Call {
            function: *function,
            arguments,
        };
        match &self.program.functions[function.index()].result {
            Some(ty) => {
                let ty = hir::Type::ir(ty);
                self.value(op, ty, call.site);
            }
            None => self.emit(op, call.site),
        }
    }
}
