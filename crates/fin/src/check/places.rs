//! Places: what can be assigned, and which places are shared.

use super::Item;
use super::body::{Binding, Binds, BodyChecker, Use};
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{GlobalId, LocalId, PlaceKind, SharedPlace, Type};
use crate::span::Span;
use crate::syntax::ast::{self, ExpressionKind as E};

/// The left side of an assignment.
pub(super) enum Target {
    Local(LocalId),
    Shared(SharedPlace),
}

impl<'s> BodyChecker<'_, 's> {
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
        }) = self.local(name, span, Use::Write)
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
                Some(Target::Shared(self.global_place(global, span)))
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

    pub(super) fn global_place(&mut self, global: GlobalId, span: Span) -> SharedPlace {
        SharedPlace {
            kind: PlaceKind::Global(global),
            ty: self.checker.globals[global.index()].ty.clone(),
            site: self.site(span),
        }
    }

    /// An element or a field.
    pub(super) fn place(&mut self, expression: &ast::Expression<'s>) -> Option<SharedPlace> {
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
                Some(SharedPlace {
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
                Some(SharedPlace {
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
