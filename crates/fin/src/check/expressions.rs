//! Expressions and places: every operand gets a type, every shared access an id.

use super::body::{Binding, Binds, BodyChecker};
use super::{Item, assignable, constant_type};
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{Expression, ExpressionKind, FunctionId, LocalId, Place, PlaceKind, Type};
use crate::span::Span;
use crate::syntax::ast::{self, ExpressionKind as E};
use finishline_ir::{BinaryOp, CompareOp, Const, MathFunction, UnaryOp};
use finishline_model::{AccessKind, SiteId};

/// The left side of an assignment.
pub(super) enum Target {
    Local(LocalId),
    Shared(Place),
}

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
            E::And(left, right) | E::Or(left, right) => {
                let checked_left = self.expected(left, &Type::Bool);
                let checked_right = self.expected(right, &Type::Bool);
                let (left, right) = (Box::new(checked_left?), Box::new(checked_right?));
                let kind = match expression.kind {
                    E::And(..) => ExpressionKind::And(left, right),
                    _ => ExpressionKind::Or(left, right),
                };
                Some((kind, Type::Bool))
            }
            E::Conditional(condition, then, otherwise) => {
                self.conditional(condition, then, otherwise)
            }
            E::Call { callee, arguments } => return self.call(span, *callee, arguments, true),
            E::Convert { ty, value } => self.conversion(*ty, value, span),
            E::Index { .. } | E::Field { .. } => {
                let place = self.place(expression)?;
                return Some(self.load(place));
            }
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
                let ty = Type::Array {
                    element: Box::new(element.clone()),
                    dimensions: sizes.len() as u32,
                };
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

    fn load(&mut self, place: Place) -> Expression {
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
        if let Some(Binding { local, .. }) = self.local(name, span) {
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
                let ty = self.checker.globals[global.index()].ty.clone();
                let site = self.site(span);
                Some(self.load(Place {
                    kind: PlaceKind::Global(global),
                    ty,
                    site,
                }))
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

    fn unary(
        &mut self,
        op: UnaryOp,
        operand: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let checked = self.expression(operand)?;
        let fits = match op {
            UnaryOp::Negate => checked.ty.is_number(),
            UnaryOp::Not => checked.ty == Type::Bool,
        };
        if !fits {
            let (symbol, takes) = match op {
                UnaryOp::Negate => ("-", "a number"),
                UnaryOp::Not => ("!", "a bool; the bits of a number are inverted by `~`"),
            };
            self.bad_operand(symbol, takes, span, &[(&checked.ty, operand.span)]);
            return None;
        }
        let ty = checked.ty.clone();
        // A negated literal is a literal.
        let kind = match (op, &checked.kind) {
            (UnaryOp::Negate, ExpressionKind::Const(Const::Int(value))) => {
                ExpressionKind::Const(Const::Int(value.wrapping_neg()))
            }
            (UnaryOp::Negate, ExpressionKind::Const(Const::Float(value))) => {
                ExpressionKind::Const(Const::Float(-value))
            }
            _ => ExpressionKind::Unary(op, Box::new(checked)),
        };
        Some((kind, ty))
    }

    fn complement(
        &mut self,
        operand: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let checked = self.expression(operand)?;
        if !matches!(checked.ty, Type::Int | Type::Byte) {
            self.bad_operand(
                "~",
                "an int or a byte",
                span,
                &[(&checked.ty, operand.span)],
            );
            return None;
        }
        let ty = checked.ty.clone();
        Some((ExpressionKind::Unary(UnaryOp::Not, Box::new(checked)), ty))
    }

    fn bad_operand(&mut self, symbol: &str, takes: &str, span: Span, operands: &[(&Type, Span)]) {
        let message = format!("`{symbol}` takes {takes}");
        let mut diagnostic = Diagnostic::new(Code::BadOperand, span, message, "");
        for (ty, span) in operands {
            let name = self.checker.type_name(ty);
            diagnostic = diagnostic.label(*span, format!("this is {name}"));
        }
        if let [(left, left_span), (right, right_span)] = operands
            && left != right
            && left.is_number()
            && right.is_number()
        {
            let (float, other) = if **left == Type::Float {
                (left, right_span)
            } else {
                (right, left_span)
            };
            let to = if **float == Type::Float {
                "float"
            } else {
                "int"
            };
            let text = other.text(self.checker.text);
            diagnostic =
                diagnostic.help(format!("convert one of them, for example `{to}({text})`"));
        }
        self.error(diagnostic);
    }

    /// The type of `left op right`, or an error.
    pub(super) fn binary_type(
        &mut self,
        op: BinaryOp,
        left: (&Type, Span),
        right: (&Type, Span),
        span: Span,
    ) -> Option<Type> {
        use BinaryOp::*;
        let same = left.0 == right.0;
        let (fits, takes) = match op {
            Add | Subtract | Multiply | Divide | Remainder => (
                same && left.0.is_number(),
                "two ints, two floats or two bytes",
            ),
            And | Or | Xor => (
                same && matches!(left.0, Type::Int | Type::Byte | Type::Bool),
                "two ints, two bytes or two bools",
            ),
            ShiftLeft | ShiftRight | ShiftRightLogical => {
                (same && *left.0 == Type::Int, "two ints")
            }
        };
        if fits {
            return Some(left.0.clone());
        }
        self.bad_operand(binary_symbol(op), takes, span, &[left, right]);
        None
    }

    fn comparison(
        &mut self,
        op: CompareOp,
        left: &ast::Expression<'s>,
        right: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let (checked_left, checked_right) = (self.expression(left), self.expression(right));
        let (checked_left, checked_right) = (checked_left?, checked_right?);
        let (a, b) = (&checked_left.ty, &checked_right.ty);
        let equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        let fits = if equality {
            assignable(a, b) || assignable(b, a)
        } else {
            a == b && a.is_number()
        };
        if !fits {
            let takes = if equality {
                "two values of one type"
            } else {
                "two numbers of one type"
            };
            self.bad_operand(
                compare_symbol(op),
                takes,
                span,
                &[(a, left.span), (b, right.span)],
            );
            return None;
        }
        Some((
            ExpressionKind::Compare(op, Box::new(checked_left), Box::new(checked_right)),
            Type::Bool,
        ))
    }

    fn conditional(
        &mut self,
        condition: &ast::Expression<'s>,
        then: &ast::Expression<'s>,
        otherwise: &ast::Expression<'s>,
    ) -> Option<(ExpressionKind, Type)> {
        let condition = self.expected(condition, &Type::Bool);
        let (checked_then, checked_otherwise) = (self.expression(then), self.expression(otherwise));
        let (condition, a, b) = (condition?, checked_then?, checked_otherwise?);
        let ty = if assignable(&b.ty, &a.ty) {
            a.ty.clone()
        } else if assignable(&a.ty, &b.ty) {
            b.ty.clone()
        } else {
            self.checker.mismatch(
                otherwise.span,
                &a.ty,
                &b.ty,
                ", as both sides of `:` have one type",
            );
            return None;
        };
        Some((
            ExpressionKind::Conditional(Box::new(condition), Box::new(a), Box::new(b)),
            ty,
        ))
    }

    fn conversion(
        &mut self,
        to: ast::BaseType<'s>,
        value: &ast::Expression<'s>,
        span: Span,
    ) -> Option<(ExpressionKind, Type)> {
        let checked = self.expression(value)?;
        let ty = match to {
            ast::BaseType::Int => Type::Int,
            ast::BaseType::Float => Type::Float,
            ast::BaseType::Byte => Type::Byte,
            ast::BaseType::Bool | ast::BaseType::Named(_) | ast::BaseType::Error => {
                self.error(
                    Diagnostic::new(Code::BadOperand, span, "there is no conversion to bool", "")
                        .help("compare instead: `x != 0`"),
                );
                return None;
            }
        };
        if !checked.ty.is_number() && !(checked.ty == Type::Bool && ty == Type::Int) {
            let (from, to) = (
                self.checker.type_name(&checked.ty),
                self.checker.type_name(&ty),
            );
            let message = format!("{from} can't be converted to {to}");
            self.error(Diagnostic::new(
                Code::BadOperand,
                value.span,
                message,
                format!("this is {from}"),
            ));
            return None;
        }
        if checked.ty == ty {
            return Some((checked.kind, ty));
        }
        Some((ExpressionKind::Convert(Box::new(checked)), ty))
    }

    /// A function of the program by name.
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
        if let Some(binding) = self.local(callee.text, callee.span) {
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
                    .chain(["len"])
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

    /// A call, of a built-in function too.
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
        // The type of a call without a value is never looked at.
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

    /// The arguments of a call or spawn of a function of the program, which is noted.
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

    fn wrong_count(
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

    pub(super) fn target_type(&self, target: &Target) -> Type {
        match target {
            Target::Local(local) => self.locals[local.index()].ty.clone(),
            Target::Shared(place) => place.ty.clone(),
        }
    }

    /// The left side of an assignment.
    pub(super) fn target(&mut self, expression: &ast::Expression<'s>) -> Option<Target> {
        let span = expression.span;
        let E::Name(name) = expression.kind else {
            if matches!(expression.kind, E::Index { .. } | E::Field { .. }) {
                return self.place(expression).map(Target::Shared);
            }
            if self.expression(expression).is_some() {
                self.error(
                    Diagnostic::new(
                        Code::NotAPlace,
                        span,
                        "this can't be assigned",
                        "not a place",
                    )
                    .help("a place is a variable, an element `a[i]` or a field `p.x`"),
                );
            }
            return None;
        };
        if let Some(Binding {
            local,
            binds,
            name: declared,
            ..
        }) = self.local(name, span)
        {
            let what = match binds {
                Binds::Var => return local.map(Target::Local),
                Binds::Let => "declared with `let`",
                Binds::Parameter => "a parameter",
                Binds::Counter => "a loop counter",
            };
            let message = format!("`{name}` can't be assigned");
            let help = match binds {
                Binds::Let => format!("declare it as a variable: `var {name}`"),
                _ => format!("copy it into a variable: `var {name}_ = {name};`"),
            };
            self.error(
                Diagnostic::new(Code::NotAssignable, span, message, "assigned here")
                    .label(declared, what)
                    .help(help),
            );
            return None;
        }
        match self.checker.items.get(name).cloned() {
            Some((Item::Global(global), _)) => {
                let ty = self.checker.globals[global.index()].ty.clone();
                let site = self.site(span);
                Some(Target::Shared(Place {
                    kind: PlaceKind::Global(global),
                    ty,
                    site,
                }))
            }
            Some((Item::Broken, _)) => None,
            Some((item, declared)) => {
                let help = match item {
                    Item::Constant(..) => format!("declare it as a variable: `var {name}`"),
                    _ => "only variables, elements and fields can be assigned".to_owned(),
                };
                let message = format!("`{name}` can't be assigned");
                self.error(
                    Diagnostic::new(Code::NotAssignable, span, message, "assigned here")
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

    /// An element or a field.
    fn place(&mut self, expression: &ast::Expression<'s>) -> Option<Place> {
        let span = expression.span;
        match &expression.kind {
            E::Index { array, indices } => {
                let checked = self.expression(array);
                let indices: Vec<_> = indices
                    .iter()
                    .map(|index| self.expected(index, &Type::Int))
                    .collect();
                let (checked, indices) =
                    (checked?, indices.into_iter().collect::<Option<Vec<_>>>()?);
                let Type::Array {
                    element,
                    dimensions,
                } = &checked.ty
                else {
                    let found = self.checker.type_name(&checked.ty);
                    let message = format!("{found} has no elements");
                    let label = format!("this is {found}");
                    self.error(Diagnostic::new(
                        Code::NotAnArray,
                        array.span,
                        message,
                        label,
                    ));
                    return None;
                };
                if *dimensions as usize != indices.len() {
                    let message = format!(
                        "this array has {dimensions} dimension{}, {} ind{} given",
                        if *dimensions == 1 { "" } else { "s" },
                        indices.len(),
                        if indices.len() == 1 { "ex" } else { "ices" },
                    );
                    let found = self.checker.type_name(&checked.ty);
                    let label = format!("this is {found}");
                    self.error(
                        Diagnostic::new(Code::NotAnArray, span, message, "")
                            .label(array.span, label),
                    );
                    return None;
                }
                let ty = (**element).clone();
                let site = self.site(span);
                Some(Place {
                    kind: PlaceKind::Element {
                        array: Box::new(checked),
                        indices,
                    },
                    ty,
                    site,
                })
            }
            E::Field { object, name } => {
                let checked = self.expression(object)?;
                let Type::Struct(id) = checked.ty else {
                    let found = self.checker.type_name(&checked.ty);
                    let message = format!("{found} has no fields");
                    let mut diagnostic = Diagnostic::new(
                        Code::NotAStruct,
                        object.span,
                        message,
                        format!("this is {found}"),
                    );
                    if matches!(checked.ty, Type::Array { .. })
                        && matches!(name.text, "length" | "len" | "size")
                    {
                        let text = object.span.text(self.checker.text);
                        diagnostic = diagnostic.help(format!("the size is `len({text})`"));
                    }
                    self.error(diagnostic);
                    return None;
                };
                let fields = &self.checker.structs[id.index()].fields;
                let Some(field) = fields.iter().position(|(field, _)| field == name.text) else {
                    if !self.checker.broken_fields[id.index()].contains(&name.text) {
                        let hint = self
                            .checker
                            .nearest(name.text, fields.iter().map(|(field, _)| field.as_str()));
                        let owner = &self.checker.structs[id.index()].name;
                        let message = format!("{owner} has no field `{}`", name.text);
                        let diagnostic = Diagnostic::new(
                            Code::UnknownField,
                            name.span,
                            message,
                            "no such field",
                        );
                        self.error(super::with_suggestion(diagnostic, hint));
                    }
                    return None;
                };
                let ty = fields[field].1.clone();
                let site = self.site(span);
                Some(Place {
                    kind: PlaceKind::Field {
                        object: Box::new(checked),
                        field: field as u32,
                    },
                    ty,
                    site,
                })
            }
            _ => None,
        }
    }
}

fn binary_symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::ShiftRightLogical => ">>>",
    }
}

fn compare_symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "==",
        CompareOp::NotEqual => "!=",
        CompareOp::Less => "<",
        CompareOp::LessEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterEqual => ">=",
    }
}
