//! Expressions: every operand gets a type, every shared access an id.

use super::body::{Binding, BodyChecker, Use};
use super::{Item, assignable, constant_type};
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{Expression, ExpressionKind, SharedPlace, Type};
use crate::span::Span;
use crate::syntax::ast::{self, ExpressionKind as E};
use finishline_ir::Const;
use finishline_model::{AccessKind, SiteId};

impl<'s> BodyChecker<'_, 's> {
    /// An expression that must have type `ty`.
    pub(super) fn expected(
        &mut self,
        expression: &ast::Expression<'s>,
        ty: &Type,
    ) -> Option<Expression> {
        let checked = self.expression(expression)?;
        if !assignable(&checked.ty, ty) {
            self.checker.mismatch(expression.span, ty, &checked.ty, "");
            return None;
        }
        Some(checked)
    }

    pub(super) fn constant(&mut self, value: Const, ty: Type) -> Expression {
        Expression {
            kind: ExpressionKind::Const(value),
            ty,
            site: SiteId(0),
        }
    }

    pub(super) fn expression(&mut self, expression: &ast::Expression<'s>) -> Option<Expression> {
        let span = expression.span;
        let literal = |value| Some((ExpressionKind::Const(value), constant_type(value)));
        let (kind, ty) = match &expression.kind {
            E::Int(value) => literal(Const::Int(*value)),
            E::Float(value) => literal(Const::Float(*value)),
            E::Bool(value) => literal(Const::Bool(*value)),
            E::Byte(value) => literal(Const::Byte(*value)),
            E::Null => literal(Const::Null),
            E::Text => {
                self.error(
                    Diagnostic::new(
                        Code::Text,
                        span,
                        "a string can't be a value",
                        "only in `print` and `assert`",
                    )
                    .help("a single byte is written 'a'"),
                );
                None
            }
            E::Name(name) => return self.name_value(name, span),
            E::Unary(op, operand) => self.unary(*op, operand, span),
            E::Complement(operand) => self.complement(operand, span),
            E::Binary(op, left, right) => {
                let (checked_left, checked_right) = (self.expression(left), self.expression(right));
                let (checked_left, checked_right) = (checked_left?, checked_right?);
                let types = (
                    (&checked_left.ty, left.span),
                    (&checked_right.ty, right.span),
                );
                let ty = self.binary_type(*op, types.0, types.1, span)?;
                Some((
                    ExpressionKind::Binary(*op, Box::new(checked_left), Box::new(checked_right)),
                    ty,
                ))
            }
            E::Compare(op, left, right) => self.comparison(*op, left, right, span),
            E::And(left, right) => self.logical("&&", ExpressionKind::And, left, right, span),
            E::Or(left, right) => self.logical("||", ExpressionKind::Or, left, right, span),
            E::Conditional(condition, then, otherwise) => {
                self.conditional(condition, then, otherwise)
            }
            E::Call { callee, arguments } => return self.call(span, *callee, arguments, true),
            E::Convert { ty, value } => self.conversion(ty, value, span),
            E::Index { .. } | E::Field { .. } => {
                let place = self.place(expression)?;
                return Some(self.load(place));
            }
            E::Method {
                object,
                name,
                arguments,
            } => return self.method_value(object, *name, arguments, span),
            E::NewLock => return Some(self.new_lock(span)),
            E::NewPromise(carried) => return self.new_promise(carried, span),
            E::Future { head, value, body } => return self.future(*head, value, *body),
            E::NewStruct(name) => {
                let layout = self.checker.struct_named(*name)?;
                let site = self.site(span);
                let allocation = self.checker.allocation(site, name.text.to_owned());
                let kind = ExpressionKind::NewStruct { layout, allocation };
                return Some(Expression {
                    kind,
                    ty: Type::Struct(layout),
                    site,
                });
            }
            E::NewArray { element, sizes } => {
                let element = self.checker.ty(element);
                let sizes: Vec<_> = sizes
                    .iter()
                    .map(|size| self.expected(size, &Type::Int))
                    .collect();
                let (element, sizes) = (element?, sizes.into_iter().collect::<Option<Vec<_>>>()?);
                if sizes.is_empty() {
                    // The parser has asked for a size.
                    return None;
                }
                let ty = Type::Array {
                    element: Box::new(element.clone()),
                    dimensions: sizes.len() as u32,
                };
                if element == Type::Lock {
                    return Some(self.new_locks(sizes, ty, span));
                }
                let site = self.site(span);
                let allocation = self.checker.allocation(site, self.checker.type_name(&ty));
                let kind = ExpressionKind::NewArray {
                    element,
                    sizes,
                    allocation,
                };
                return Some(Expression { kind, ty, site });
            }
            E::Error => None,
        }?;
        let site = match kind {
            ExpressionKind::Const(_) | ExpressionKind::Local(_) => SiteId(0),
            _ => self.site(span),
        };
        Some(Expression { kind, ty, site })
    }

    fn load(&mut self, place: SharedPlace) -> Expression {
        let (ty, site) = (place.ty.clone(), place.site);
        let access = self.checker.access(site, site, AccessKind::Read, self.name);
        Expression {
            kind: ExpressionKind::Load {
                place: Box::new(place),
                access,
            },
            ty,
            site,
        }
    }

    fn name_value(&mut self, name: &'s str, span: Span) -> Option<Expression> {
        if let Some(Binding { local, .. }) = self.local(name, span, Use::Read) {
            let local = local?;
            let ty = self.locals[local.index()].ty.clone();
            return Some(Expression {
                kind: ExpressionKind::Local(local),
                ty,
                site: SiteId(0),
            });
        }
        match self.checker.items.get(name).cloned() {
            Some((Item::Constant(value, ty), _)) => Some(self.constant(value, ty)),
            Some((Item::Global(global), _)) => {
                let place = self.global_place(global, span);
                Some(self.load(place))
            }
            Some((Item::Broken, _)) => None,
            Some((item, declared)) => {
                let (what, help) = match item {
                    Item::Struct(_) => ("struct", format!("make an object: `new {name}()`")),
                    _ => ("function", format!("call it: `{name}(…)`")),
                };
                let message = format!("`{name}` is a {what}, not a value");
                self.error(
                    Diagnostic::new(Code::NotAValue, span, message, "a value is needed here")
                        .label(declared, "declared here")
                        .help(help),
                );
                None
            }
            None => {
                self.unknown_name(name, span);
                None
            }
        }
    }
}
