//! Promises and futures: how they are made, `set` and `get`.

use super::body::{BodyChecker, Enclosing, OpenBody};
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{self, Expression, ExpressionKind, Statement, Type};
use crate::span::Span;
use crate::syntax::ast;
use finishline_ir::Construct;
use finishline_model::AccessKind;

/// A call of a method whose object and name are checked.
enum Method {
    /// With the type of the value.
    Set(Type),
    /// With the type of the result.
    Get(Type),
}

impl<'s> BodyChecker<'_, 's> {
    pub(super) fn new_promise(
        &mut self,
        carried: &ast::Type<'s>,
        span: Span,
    ) -> Option<Expression> {
        let ty = Type::Promise(Box::new(self.checker.ty(carried)?));
        self.checker.uses(Construct::Promise, span);
        let site = self.site(span);
        let allocation = self.checker.allocation(site, self.checker.type_name(&ty));
        Some(Expression {
            kind: ExpressionKind::NewPromise { allocation },
            ty,
            site,
        })
    }

    /// `future { value }`: a task of the enclosing finish.
    pub(super) fn future(
        &mut self,
        head: Span,
        value: &ast::Expression<'s>,
        body: Span,
    ) -> Option<Expression> {
        self.parallel(Construct::Future, head);
        self.bodies.push(OpenBody::default());
        let checked = self.enclosed(Enclosing::Task(Construct::Future), |body| {
            body.expression(value)
        });
        let captures = self.bodies.pop().unwrap_or_default().captures;
        let checked = checked?;
        if checked.ty == Type::Null {
            let message = "the type of this future can't be seen";
            self.error(
                Diagnostic::new(Code::NeedsType, value.span, message, "of which type?")
                    .help("name the value first: `let none: Node = null;`"),
            );
            return None;
        }
        let ty = Type::Future(Box::new(checked.ty.clone()));
        let site = self.site(head);
        let allocation = self.checker.allocation(site, self.checker.type_name(&ty));
        let kind = ExpressionKind::Future(hir::Future {
            captures,
            value: Box::new(checked),
            allocation,
            end: self.checker.end_of(body),
        });
        Some(Expression { kind, ty, site })
    }

    /// `object.name(arguments)` where a value is needed.
    pub(super) fn method_value(
        &mut self,
        object: &ast::Expression<'s>,
        name: ast::Name<'s>,
        arguments: &[ast::Expression<'s>],
        span: Span,
    ) -> Option<Expression> {
        let (receiver, method) = self.method(object, name, arguments)?;
        match method {
            Method::Get(ty) => self.get(receiver, ty, name, arguments, span),
            Method::Set(_) => {
                let message = "`set` returns nothing";
                self.error(Diagnostic::new(
                    Code::NoValue,
                    span,
                    message,
                    "a value is needed here",
                ));
                None
            }
        }
    }

    /// `object.name(arguments);`
    pub(super) fn method_statement(
        &mut self,
        object: &ast::Expression<'s>,
        name: ast::Name<'s>,
        arguments: &[ast::Expression<'s>],
        span: Span,
    ) -> Option<Statement> {
        let (receiver, method) = self.method(object, name, arguments)?;
        let ty = match method {
            Method::Get(ty) => {
                let got = self.get(receiver, ty, name, arguments, span);
                return got.map(Statement::Call);
            }
            Method::Set(ty) => ty,
        };
        self.checker.uses(Construct::Promise, name.span);
        let [value] = arguments else {
            self.wrong_count(span, "set", 1, arguments.len(), None);
            return None;
        };
        let value = self.expected(value, &ty)?;
        let (site, place) = (self.site(span), self.site(object.span));
        let access = self
            .checker
            .access(site, place, AccessKind::Write, self.name);
        Some(Statement::Set {
            promise: receiver,
            value,
            access,
            site,
        })
    }

    fn get(
        &mut self,
        receiver: Expression,
        ty: Type,
        name: ast::Name<'s>,
        arguments: &[ast::Expression<'s>],
        span: Span,
    ) -> Option<Expression> {
        let construct = match receiver.ty {
            Type::Future(_) => Construct::Future,
            _ => Construct::Promise,
        };
        self.parallel(construct, name.span);
        if !arguments.is_empty() {
            self.wrong_count(span, "get", 0, arguments.len(), None);
            return None;
        }
        Some(Expression {
            kind: ExpressionKind::Get(Box::new(receiver)),
            ty,
            site: self.site(span),
        })
    }

    /// The object of a method call and the method. Arguments of unknown methods are checked here.
    fn method(
        &mut self,
        object: &ast::Expression<'s>,
        name: ast::Name<'s>,
        arguments: &[ast::Expression<'s>],
    ) -> Option<(Expression, Method)> {
        let receiver = self.expression(object);
        let found = receiver
            .as_ref()
            .and_then(|it| method_of(&it.ty, name.text));
        if let Some(found) = found {
            return receiver.map(|receiver| (receiver, found));
        }
        for argument in arguments {
            self.expression(argument);
        }
        let receiver = receiver?;
        let ty = self.checker.type_name(&receiver.ty);
        let (message, help) = match receiver.ty {
            Type::Promise(_) => (
                format!("{ty} has no method `{}`", name.text),
                "a promise has `set` and `get`",
            ),
            Type::Future(_) if name.text == "set" => (
                format!("{ty} can't be set"),
                "its task sets it; a promise is set by any task",
            ),
            Type::Future(_) => (
                format!("{ty} has no method `{}`", name.text),
                "a future has `get`",
            ),
            _ => (
                format!("{ty} has no methods"),
                "a function is called as `f(x)`",
            ),
        };
        self.error(
            Diagnostic::new(Code::UnknownMethod, name.span, message, "no such method")
                .label(object.span, format!("this is {ty}"))
                .help(help),
        );
        None
    }
}

fn method_of(ty: &Type, name: &str) -> Option<Method> {
    match (ty, name) {
        (Type::Promise(carried), "set") => Some(Method::Set((**carried).clone())),
        (Type::Promise(carried) | Type::Future(carried), "get") => {
            Some(Method::Get((**carried).clone()))
        }
        _ => None,
    }
}
