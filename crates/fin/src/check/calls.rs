//! Calls of the program's functions and of built-in functions.

use super::Item;
use super::body::{BodyChecker, Use};
use super::locks::is_lock_operation;
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{Expression, ExpressionKind, FunctionId, Type};
use crate::span::Span;
use crate::syntax::ast::{self, ExpressionKind as E};
use finishline_ir::MathFunction;

impl<'s> BodyChecker<'_, 's> {
    /// Looks up a function of the program by name.
    pub(super) fn function_named(
        &mut self,
        callee: ast::Name<'s>,
        builtin: Code,
    ) -> Option<FunctionId> {
        if let Some((Item::Function(function), _)) = self.checker.items.get(callee.text) {
            return Some(*function);
        }
        if super::is_builtin(callee.text) {
            let message = format!("`{}` is a built-in function", callee.text);
            self.error(Diagnostic::new(
                builtin,
                callee.span,
                message,
                "not a function of the program",
            ));
            return None;
        }
        if let Some(binding) = self.local(callee.text, callee.span, Use::Read) {
            let message = format!("`{}` is a local, not a function", callee.text);
            self.error(
                Diagnostic::new(Code::UnknownFunction, callee.span, message, "called here")
                    .label(binding.name, "declared here"),
            );
            return None;
        }
        match self.checker.items.get(callee.text).cloned() {
            Some((Item::Broken, _)) => {}
            Some((item, declared)) => {
                let help = match item {
                    Item::Struct(_) => format!("make an object: `new {}()`", callee.text),
                    _ => "only functions can be called".to_owned(),
                };
                let message = format!("`{}` is not a function", callee.text);
                self.error(
                    Diagnostic::new(Code::UnknownFunction, callee.span, message, "called here")
                        .label(declared, "declared here")
                        .help(help),
                );
            }
            None => {
                let items = self.checker.items.iter();
                let mut names: Vec<&str> = items
                    .filter(|(_, (item, _))| matches!(item, Item::Function(_)))
                    .map(|(name, _)| *name)
                    .chain(MathFunction::ALL.iter().map(|function| function.word()))
                    .chain(["len", "acquire", "release"])
                    .collect();
                names.sort_unstable();
                let hint = self.checker.nearest(callee.text, names.into_iter());
                let message = format!("there is no function `{}`", callee.text);
                let diagnostic =
                    Diagnostic::new(Code::UnknownFunction, callee.span, message, "not declared");
                self.error(super::with_suggestion(diagnostic, hint));
            }
        }
        None
    }

    /// Checks a call of a function of the program or of a built-in function.
    pub(super) fn call(
        &mut self,
        span: Span,
        callee: ast::Name<'s>,
        arguments: &[ast::Expression<'s>],
        value_needed: bool,
    ) -> Option<Expression> {
        if callee.text == "len" {
            return self.length(span, arguments);
        }
        if let Some(function) = MathFunction::ALL
            .into_iter()
            .find(|function| function.word() == callee.text)
        {
            return self.math(span, function, arguments);
        }
        if is_lock_operation(callee.text) {
            self.lock_value(callee, span);
            return None;
        }
        let Some(function) = self.function_named(callee, Code::UnknownFunction) else {
            for argument in arguments {
                self.expression(argument);
            }
            return None;
        };
        let arguments = self.call_arguments(span, function, arguments)?;
        if self.isolated().is_some() {
            self.checker.calls_in_isolated.push((function, span));
        }
        let result = self.checker.signatures[function.index()].result.clone();
        if result.is_none() && value_needed {
            self.no_value(callee, span);
            return None;
        }
        let site = self.site(span);
        // Nothing reads the type of a call without a value.
        let ty = result.unwrap_or(Type::Null);
        Some(Expression {
            kind: ExpressionKind::Call {
                function,
                arguments,
            },
            ty,
            site,
        })
    }

    pub(super) fn no_value(&mut self, callee: ast::Name<'s>, span: Span) {
        let message = format!("`{}` returns nothing", callee.text);
        self.error(
            Diagnostic::new(Code::NoValue, span, message, "a value is needed here").help(format!(
                "give it a result type: `fn {}(…): type`",
                callee.text
            )),
        );
    }

    /// Checks the arguments of a call or spawn of a function of the program, and notes the call.
    pub(super) fn call_arguments(
        &mut self,
        span: Span,
        function: FunctionId,
        arguments: &[ast::Expression<'s>],
    ) -> Option<Vec<Expression>> {
        self.checker.effects[self.function.index()]
            .calls
            .push(function);
        let signature = &self.checker.signatures[function.index()];
        let (types, declared) = (signature.parameters.clone(), signature.name);
        if types.len() != arguments.len() {
            self.wrong_count(
                span,
                declared.text(self.checker.text),
                types.len(),
                arguments.len(),
                Some(declared),
            );
            for argument in arguments {
                self.expression(argument);
            }
            return None;
        }
        let checked: Vec<_> = arguments
            .iter()
            .zip(types)
            .map(|(argument, ty)| match ty {
                Some(ty) => self.expected(argument, &ty),
                None => self.expression(argument).and(None),
            })
            .collect();
        checked.into_iter().collect()
    }

    pub(super) fn wrong_count(
        &mut self,
        span: Span,
        name: &str,
        takes: usize,
        given: usize,
        declared: Option<Span>,
    ) {
        let plural = if takes == 1 { "" } else { "s" };
        let message = format!("`{name}` takes {takes} argument{plural}, {given} given");
        let mut diagnostic = Diagnostic::new(Code::WrongCount, span, message, "");
        if let Some(declared) = declared {
            diagnostic = diagnostic.label(declared, "declared here");
        }
        self.error(diagnostic);
    }

    fn length(&mut self, span: Span, arguments: &[ast::Expression<'s>]) -> Option<Expression> {
        let (array, dimension) = match arguments {
            [array] => (array, 0),
            [array, dimension] => match dimension.kind {
                E::Int(value) => (array, value),
                _ => {
                    let message = "the dimension is a literal";
                    self.error(
                        Diagnostic::new(Code::NotAnArray, dimension.span, message, "not a literal")
                            .help("`len(m, 1)` is the size of the second dimension"),
                    );
                    return None;
                }
            },
            _ => {
                self.wrong_count(span, "len", 1, arguments.len(), None);
                return None;
            }
        };
        let checked = self.expression(array)?;
        let Type::Array { dimensions, .. } = checked.ty else {
            let found = self.checker.type_name(&checked.ty);
            let message = format!("`len` takes an array, not {found}");
            self.error(Diagnostic::new(
                Code::NotAnArray,
                array.span,
                message,
                format!("this is {found}"),
            ));
            return None;
        };
        let Some(dimension) = u32::try_from(dimension)
            .ok()
            .filter(|dimension| *dimension < dimensions)
        else {
            let message = format!(
                "this array has {dimensions} dimension{}",
                if dimensions == 1 { "" } else { "s" }
            );
            let help = format!("dimensions are numbered from 0 to {}", dimensions - 1);
            self.error(
                Diagnostic::new(Code::NotAnArray, span, message, "no such dimension").help(help),
            );
            return None;
        };
        let site = self.site(span);
        let kind = ExpressionKind::Length {
            array: Box::new(checked),
            dimension,
        };
        Some(Expression {
            kind,
            ty: Type::Int,
            site,
        })
    }

    fn math(
        &mut self,
        span: Span,
        function: MathFunction,
        arguments: &[ast::Expression<'s>],
    ) -> Option<Expression> {
        if arguments.len() != function.arity() {
            self.wrong_count(
                span,
                function.word(),
                function.arity(),
                arguments.len(),
                None,
            );
            return None;
        }
        let checked: Vec<_> = arguments
            .iter()
            .map(|argument| self.expression(argument))
            .collect();
        let checked = checked.into_iter().collect::<Option<Vec<_>>>()?;
        let ty = match checked[0].ty {
            Type::Int if function.takes_int() => Type::Int,
            _ => Type::Float,
        };
        for (argument, written) in checked.iter().zip(arguments) {
            if argument.ty != ty {
                self.checker.mismatch(written.span, &ty, &argument.ty, "");
                return None;
            }
        }
        let site = self.site(span);
        Some(Expression {
            kind: ExpressionKind::Math(function, checked),
            ty,
            site,
        })
    }
}
