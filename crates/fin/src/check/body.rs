//! Checks one function body: scopes of names, enclosing statements, captures of tasks.

use super::{Checker, Item};
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{self, FunctionId, Local, LocalId, Type};
use crate::span::Span;
use crate::syntax::ast;
use finishline_ir::Construct;
use finishline_model::SiteId;
use rustc_hash::FxHashMap;

/// Whether a name can be assigned, and if not, why.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Binds {
    Let,
    Var,
    Parameter,
    Counter,
}

/// The purpose of a name's look-up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// A visible local.
#[derive(Clone, Copy)]
pub(super) struct Binding {
    /// None if the declaration had an error.
    pub(super) local: Option<LocalId>,
    pub(super) binds: Binds,
    pub(super) name: Span,
    /// The number of tasks around its declaration.
    task_level: usize,
    scope: usize,
}

/// A statement that encloses the current one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Enclosing {
    Loop,
    Task(Construct),
    Finish,
    Isolated(Span),
}

/// A function or task body that is being checked.
#[derive(Default)]
pub(super) struct OpenBody {
    pub(super) captures: Vec<LocalId>,
    sync_scope: bool,
}

pub(super) struct BodyChecker<'c, 's> {
    pub(super) checker: &'c mut Checker<'s>,
    pub(super) function: FunctionId,
    pub(super) name: &'s str,
    pub(super) result: Option<Type>,
    /// The written result type has an error, so returns can't be checked.
    pub(super) result_broken: bool,
    pub(super) locals: Vec<Local>,
    visible: FxHashMap<&'s str, Vec<Binding>>,
    /// The names declared in each open block.
    scopes: Vec<Vec<&'s str>>,
    pub(super) enclosing: Vec<Enclosing>,
    /// The function, then each task around the current statement.
    pub(super) bodies: Vec<OpenBody>,
}

/// Checks the body of a function whose signature is declared.
pub(super) fn check_function<'s>(
    checker: &mut Checker<'s>,
    id: FunctionId,
    function: &ast::Function<'s>,
) -> hir::Function {
    let signature = &checker.signatures[id.index()];
    let (types, result) = (signature.parameters.clone(), signature.result.clone());
    let mut body = BodyChecker {
        function: id,
        name: function.name.text,
        result_broken: function.result.is_some() && result.is_none(),
        result,
        locals: Vec::new(),
        visible: FxHashMap::default(),
        scopes: vec![Vec::new()],
        enclosing: Vec::new(),
        bodies: vec![OpenBody::default()],
        checker,
    };
    let mut parameters = Vec::new();
    for (parameter, ty) in function.parameters.iter().zip(types) {
        parameters.extend(body.declare(parameter.name, ty, Binds::Parameter));
    }
    let block = body.block(&function.body);
    if body.result.is_some() && !hir::diverges(&block) {
        let end = Span::new(
            function.body.span.end.saturating_sub(1),
            function.body.span.end,
        );
        let message = format!("`{}` can end without returning a value", function.name.text);
        let ty = function
            .result
            .as_ref()
            .map_or(function.name.span, |ty| ty.span);
        body.error(
            Diagnostic::new(
                Code::MissingReturn,
                end,
                message,
                "the end is reached without `return`",
            )
            .label(ty, "because of this result type"),
        );
    }
    let open = body.bodies.pop().unwrap_or_default();
    let (locals, result) = (body.locals, body.result);
    let end = checker.end_of(function.body.span);
    let site = checker.site(function.name.span);
    hir::Function {
        name: function.name.text.to_owned(),
        parameters,
        locals,
        result,
        body: hir::Body {
            block,
            sync_scope: open.sync_scope,
            end,
        },
        site,
    }
}

impl<'s> Checker<'s> {
    /// The closing brace of a block, or the end of a single statement.
    pub(super) fn end_of(&mut self, block: Span) -> SiteId {
        self.site(Span::new(
            block.end.saturating_sub(1).max(block.start),
            block.end,
        ))
    }
}

impl<'s> BodyChecker<'_, 's> {
    pub(super) fn error(&mut self, diagnostic: Diagnostic) {
        self.checker.error(diagnostic);
    }

    pub(super) fn site(&mut self, span: Span) -> SiteId {
        self.checker.site(span)
    }

    /// Declares a local in the current block. A local without a type is known but can't be used.
    pub(super) fn declare(
        &mut self,
        name: ast::Name<'s>,
        ty: Option<Type>,
        binds: Binds,
    ) -> Option<LocalId> {
        let scope = self.scopes.len();
        let before = self
            .visible
            .get(name.text)
            .and_then(|bindings| bindings.last());
        if let Some(before) = before.filter(|binding| binding.scope == scope) {
            let first = before.name;
            let message = format!("`{}` is declared twice", name.text);
            self.error(
                Diagnostic::new(Code::Duplicate, name.span, message, "declared again here")
                    .label(first, "first declared here"),
            );
        }
        let local = ty.map(|ty| {
            let id = LocalId::from_index(self.locals.len());
            self.locals.push(Local {
                name: name.text.to_owned(),
                ty,
            });
            id
        });
        let binding = Binding {
            local,
            binds,
            name: name.span,
            task_level: self.bodies.len(),
            scope,
        };
        self.visible.entry(name.text).or_default().push(binding);
        if let Some(names) = self.scopes.last_mut() {
            names.push(name.text);
        }
        local
    }

    /// Runs `check` in a new scope.
    pub(super) fn scoped<R>(&mut self, check: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(Vec::new());
        let result = check(self);
        for name in self.scopes.pop().unwrap_or_default() {
            if let Some(bindings) = self.visible.get_mut(name) {
                bindings.pop();
            }
        }
        result
    }

    pub(super) fn enclosed<R>(&mut self, by: Enclosing, check: impl FnOnce(&mut Self) -> R) -> R {
        self.enclosing.push(by);
        let result = check(self);
        self.enclosing.pop();
        result
    }

    pub(super) fn block(&mut self, block: &ast::Block<'s>) -> hir::Block {
        self.scoped(|body| body.statements(&block.statements))
    }

    /// Checks the body of a task and collects its captures.
    pub(super) fn task(
        &mut self,
        construct: Construct,
        head: Span,
        block: &ast::Block<'s>,
    ) -> hir::Task {
        self.bodies.push(OpenBody::default());
        let statements = self.enclosed(Enclosing::Task(construct), |body| body.block(block));
        let open = self.bodies.pop().unwrap_or_default();
        let end = self.checker.end_of(block.span);
        hir::Task {
            captures: open.captures,
            body: hir::Body {
                block: statements,
                sync_scope: open.sync_scope,
                end,
            },
            site: self.site(head),
        }
    }

    /// Marks the sync scope that a `spawn` or `sync` belongs to. A lexical finish needs no mark: it
    /// is a sync scope itself.
    pub(super) fn in_sync_scope(&mut self) {
        let innermost = self
            .enclosing
            .iter()
            .rev()
            .find(|by| matches!(by, Enclosing::Task(_) | Enclosing::Finish));
        if innermost != Some(&Enclosing::Finish)
            && let Some(open) = self.bodies.last_mut()
        {
            open.sync_scope = true;
        }
    }

    /// Notes a parallel statement; refuses it inside `isolated`.
    pub(super) fn parallel(&mut self, construct: Construct, head: Span) {
        self.checker.uses(construct, head);
        self.checker.effects[self.function.index()]
            .parallel
            .get_or_insert((construct, head));
        if let Some(isolated) = self.isolated() {
            // `begin_finish` and `end_finish` are one construct with two words.
            let word = head
                .text(self.checker.text)
                .trim_end_matches(';')
                .trim_end();
            let message = format!("`{word}` can't be used inside isolated");
            self.error(
                Diagnostic::new(Code::InIsolated, head, message, "not allowed here")
                    .label(isolated, "inside this isolated block")
                    .help("end the isolated block first"),
            );
        }
    }

    /// The isolated block around the current statement.
    pub(super) fn isolated(&self) -> Option<Span> {
        self.enclosing.iter().rev().find_map(|by| match by {
            Enclosing::Isolated(span) => Some(*span),
            _ => None,
        })
    }

    /// Looks up a local. A use inside a task makes the local a capture. A `var` can't be captured.
    pub(super) fn local(&mut self, name: &str, span: Span, used: Use) -> Option<Binding> {
        let binding = *self.visible.get(name)?.last()?;
        if binding.task_level == self.bodies.len() {
            return Some(binding);
        }
        if binding.binds == Binds::Var {
            let task = self.enclosing.iter().rev().find_map(|by| match by {
                Enclosing::Task(construct) => Some(construct.word()),
                _ => None,
            });
            let task = task.unwrap_or("async");
            let message = format!("the variable `{name}` can't be captured by a task");
            let help = match used {
                Use::Read => format!("copy it before the {task}: `let {name}_now = {name};`"),
                Use::Write => "share it: as a global, a field or an array element".to_owned(),
            };
            let why = "declared with `var`, so it may change while the task runs";
            self.error(
                Diagnostic::new(
                    Code::MutableCapture,
                    span,
                    message,
                    format!("used inside `{task}`"),
                )
                .label(binding.name, why)
                .help(help),
            );
            return Some(Binding {
                local: None,
                binds: Binds::Var,
                ..binding
            });
        }
        if let Some(local) = binding.local {
            for open in &mut self.bodies[binding.task_level..] {
                if !open.captures.contains(&local) {
                    open.captures.push(local);
                }
            }
        }
        Some(binding)
    }

    pub(super) fn unknown_name(&mut self, name: &str, span: Span) {
        let mut visible: Vec<&str> = self
            .visible
            .iter()
            .filter(|(_, bindings)| !bindings.is_empty())
            .map(|(name, _)| *name)
            .collect();
        let items = self.checker.items.iter();
        visible.extend(
            items
                .filter(|(_, (item, _))| !matches!(item, Item::Struct(_)))
                .map(|(name, _)| *name),
        );
        // The order of a hash map varies. The suggestion must be the same in every run.
        visible.sort_unstable();
        let hint = self.checker.nearest(name, visible.into_iter());
        let diagnostic = Diagnostic::new(
            Code::UnknownName,
            span,
            format!("there is no `{name}` here"),
            "not declared",
        );
        self.error(super::with_suggestion(diagnostic, hint));
    }
}
