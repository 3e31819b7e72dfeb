//! Statements: types, places, and where `break`, `continue` and `return` may stand.

use super::assignable;
use super::body::{Binds, BodyChecker, Enclosing};
use super::locks::is_lock_operation;
use super::places::Target;
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{self, Expression, ExpressionKind, Statement, Type};
use crate::span::Span;
use crate::syntax::ast::{self, StatementKind};
use finishline_ir::{BinaryOp, Const, Construct};
use finishline_model::AccessKind;

impl<'s> BodyChecker<'_, 's> {
    pub(super) fn statements(&mut self, statements: &[ast::Statement<'s>]) -> hir::Block {
        statements
            .iter()
            .filter_map(|statement| self.statement(statement))
            .collect()
    }

    fn statement(&mut self, statement: &ast::Statement<'s>) -> Option<Statement> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Block(block) => Some(Statement::Block(self.block(block))),
            StatementKind::Declare {
                mutable,
                name,
                ty,
                value,
            } => self.declaration(*mutable, *name, ty.as_ref(), value.as_ref()),
            StatementKind::Assign {
                place,
                op: None,
                value,
            } => self.assignment(span, place, value),
            StatementKind::Assign {
                place,
                op: Some(op),
                value,
            } => self.update(span, place, *op, value),
            StatementKind::Expression(expression) => self.call_statement(expression),
            StatementKind::If { arms, otherwise } => {
                let arms = arms.iter();
                let arms = arms
                    .map(|(condition, block)| (self.condition(condition), self.block(block)))
                    .collect();
                let otherwise = otherwise
                    .as_ref()
                    .map(|block| self.block(block))
                    .unwrap_or_default();
                Some(Statement::If { arms, otherwise })
            }
            StatementKind::While { condition, body } => {
                let condition = self.condition(condition);
                let body = self.enclosed(Enclosing::Loop, |checker| checker.block(body));
                Some(Statement::While { condition, body })
            }
            StatementKind::For { name, range, body } => {
                let range = self.range(range);
                let (counter, body) = self.scoped(|checker| {
                    let counter = checker.declare(*name, Some(Type::Int), Binds::Counter);
                    (
                        counter,
                        checker.enclosed(Enclosing::Loop, |checker| checker.block(body)),
                    )
                });
                Some(Statement::For {
                    counter: counter?,
                    range: range?,
                    body,
                })
            }
            StatementKind::Forall {
                head,
                name,
                range,
                body,
            } => {
                self.parallel(Construct::Forall, *head);
                let range = self.range(range);
                let (counter, task) = self.scoped(|checker| {
                    let counter = checker.declare(*name, Some(Type::Int), Binds::Counter);
                    let mut task = checker.task(Construct::Forall, *head, body);
                    // Reports name a task by the counter, so the counter is captured even if the
                    // body does not use it.
                    if let Some(counter) =
                        counter.filter(|counter| !task.captures.contains(counter))
                    {
                        task.captures.insert(0, counter);
                    }
                    (counter, task)
                });
                let end = self.checker.end_of(body.span);
                Some(Statement::Forall {
                    counter: counter?,
                    range: range?,
                    task,
                    end,
                })
            }
            StatementKind::Break => self.leave(span, "break").then_some(Statement::Break),
            StatementKind::Continue => self.leave(span, "continue").then_some(Statement::Continue),
            StatementKind::Return(value) => Some(self.return_statement(span, value.as_ref())),
            StatementKind::Print(arguments) => Some(Statement::Print(self.arguments(arguments)?)),
            StatementKind::Assert { condition, message } => {
                let condition = self.condition(condition);
                let message = self.arguments(message);
                let site = self.site(span);
                Some(Statement::Assert {
                    condition,
                    message: message?,
                    site,
                })
            }
            StatementKind::Async { head, body } => {
                self.parallel(Construct::Async, *head);
                Some(Statement::Async(self.task(Construct::Async, *head, body)))
            }
            StatementKind::Finish { head, body } => {
                self.parallel(Construct::Finish, *head);
                let block = self.enclosed(Enclosing::Finish, |checker| checker.block(body));
                let end = self.checker.end_of(body.span);
                Some(Statement::Finish {
                    block,
                    site: self.site(*head),
                    end,
                })
            }
            StatementKind::Isolated { head, body } => {
                self.parallel(Construct::Isolated, *head);
                let block =
                    self.enclosed(Enclosing::Isolated(*head), |checker| checker.block(body));
                let end = self.checker.end_of(body.span);
                Some(Statement::Isolated {
                    block,
                    site: self.site(*head),
                    end,
                })
            }
            StatementKind::Locked { head, lock, body } => self.locked(*head, lock, body),
            StatementKind::BeginFinish => {
                self.parallel(Construct::BeginFinish, span);
                Some(Statement::BeginFinish(self.site(span)))
            }
            StatementKind::EndFinish => {
                self.parallel(Construct::BeginFinish, span);
                Some(Statement::EndFinish(self.site(span)))
            }
            StatementKind::Sync => {
                self.parallel(Construct::Sync, span);
                self.in_sync_scope();
                Some(Statement::Sync(self.site(span)))
            }
            StatementKind::Spawn {
                head,
                place,
                callee,
                arguments,
            } => {
                self.parallel(Construct::Spawn, *head);
                self.in_sync_scope();
                self.spawn(span, place.as_ref(), *callee, arguments)
            }
        }
    }

    /// Checks a condition. A wrong condition has been reported and is replaced by another one. The
    /// statement is kept, so the analysis of paths that return still sees it.
    fn condition(&mut self, condition: &ast::Expression<'s>) -> Expression {
        match self.expected(condition, &Type::Bool) {
            Some(condition) => condition,
            None => self.constant(Const::Bool(false), Type::Bool),
        }
    }

    fn declaration(
        &mut self,
        mutable: bool,
        name: ast::Name<'s>,
        ty: Option<&ast::Type<'s>>,
        value: Option<&ast::Expression<'s>>,
    ) -> Option<Statement> {
        let value_given = value.is_some();
        let annotated = ty.map(|ty| self.checker.ty(ty));
        let checked = value.map(|value| match &annotated {
            Some(Some(ty)) => self.expected(value, ty),
            _ => self.expression(value),
        });
        let (ty, value) = match (annotated, checked) {
            (Some(Some(ty)), Some(value)) => (Some(ty), value),
            (Some(Some(ty)), None) if mutable => {
                let zero = self.constant(Const::zero(ty.ir()), ty.clone());
                (Some(ty), Some(zero))
            }
            (Some(Some(ty)), None) => {
                let message = format!("`let {}` has no value", name.text);
                self.error(
                    Diagnostic::new(Code::NeedsType, name.span, message, "no value")
                        .help("write `= value`, or `var` for a variable"),
                );
                (Some(ty), None)
            }
            (None, Some(Some(value))) if value.ty != Type::Null => {
                (Some(value.ty.clone()), Some(value))
            }
            // The value or the annotation is wrong and has been reported.
            (Some(None), _) | (None, Some(None)) => (None, None),
            (None, _) => {
                let message = format!("the type of `{}` can't be seen", name.text);
                let word = if mutable { "var" } else { "let" };
                let example = if value_given {
                    "Node = null"
                } else {
                    "int = 0"
                };
                let help = format!("write its type: `{word} {}: {example};`", name.text);
                let diagnostic =
                    Diagnostic::new(Code::NeedsType, name.span, message, "of which type?");
                self.error(diagnostic.help(help));
                (None, None)
            }
        };
        let binds = if mutable { Binds::Var } else { Binds::Let };
        let local = self.declare(name, ty, binds);
        let value = value?;
        self.name_allocation(&value, name.text.to_owned());
        Some(Statement::SetLocal {
            local: local?,
            value,
        })
    }

    /// An object is named after the variable or place it is first bound to.
    fn name_allocation(&mut self, value: &Expression, name: String) {
        let allocation = match &value.kind {
            ExpressionKind::NewStruct { allocation, .. }
            | ExpressionKind::NewArray { allocation, .. }
            | ExpressionKind::NewLock { allocation }
            | ExpressionKind::NewPromise { allocation }
            | ExpressionKind::Future(hir::Future { allocation, .. }) => *allocation,
            ExpressionKind::NewLocks {
                allocation,
                of_lock,
                ..
            } => {
                let element = format!("{name}[…]");
                self.checker.source.allocations[of_lock.index()].name = element;
                *allocation
            }
            _ => return,
        };
        self.checker.source.allocations[allocation.index()].name = name;
    }

    fn assignment(
        &mut self,
        span: Span,
        place: &ast::Expression<'s>,
        value: &ast::Expression<'s>,
    ) -> Option<Statement> {
        let Some(target) = self.target(place) else {
            self.expression(value);
            return None;
        };
        let ty = self.target_type(&target);
        let value = self.expected(value, &ty)?;
        let path = place.span.text(self.checker.text);
        if is_short_path(place, path) {
            self.name_allocation(&value, path.to_owned());
        }
        Some(match target {
            Target::Local(local) => Statement::SetLocal { local, value },
            Target::Shared(place) => {
                let site = self.statement_site(span);
                let access = self
                    .checker
                    .access(site, place.site, AccessKind::Write, self.name);
                Statement::Store {
                    place,
                    access,
                    value,
                    site,
                }
            }
        })
    }

    fn update(
        &mut self,
        span: Span,
        place: &ast::Expression<'s>,
        op: BinaryOp,
        value: &ast::Expression<'s>,
    ) -> Option<Statement> {
        let target = self.target(place);
        let checked = self.expression(value);
        let (target, checked) = (target?, checked?);
        let ty = self.target_type(&target);
        self.binary_type(op, (&ty, place.span), (&checked.ty, value.span), span)?;
        Some(match target {
            Target::Local(local) => {
                let site = self.site(span);
                let left = Expression {
                    kind: ExpressionKind::Local(local),
                    ty: ty.clone(),
                    site,
                };
                let kind = ExpressionKind::Binary(op, Box::new(left), Box::new(checked));
                Statement::SetLocal {
                    local,
                    value: Expression { kind, ty, site },
                }
            }
            Target::Shared(place) => {
                let site = self.statement_site(span);
                let read = self
                    .checker
                    .access(site, place.site, AccessKind::Read, self.name);
                let write = self
                    .checker
                    .access(site, place.site, AccessKind::Write, self.name);
                Statement::Update {
                    place,
                    read,
                    write,
                    op,
                    value: checked,
                    site,
                }
            }
        })
    }

    /// The site of a statement, without its semicolon.
    fn statement_site(&mut self, span: Span) -> finishline_model::SiteId {
        let text = span.text(self.checker.text);
        let trimmed = text.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        self.site(Span::new(span.start, span.start + trimmed.len() as u32))
    }

    fn call_statement(&mut self, expression: &ast::Expression<'s>) -> Option<Statement> {
        if let ast::ExpressionKind::Call { callee, arguments } = &expression.kind {
            if is_lock_operation(callee.text) {
                return self.lock_operation(expression.span, *callee, arguments);
            }
            return self
                .call(expression.span, *callee, arguments, false)
                .map(Statement::Call);
        }
        if let ast::ExpressionKind::Method {
            object,
            name,
            arguments,
        } = &expression.kind
        {
            return self.method_statement(object, *name, arguments, expression.span);
        }
        let checked = self.expression(expression)?;
        if let ExpressionKind::Future(_) = checked.kind {
            return Some(Statement::Call(checked));
        }
        self.error(
            Diagnostic::new(
                Code::NoEffect,
                expression.span,
                "this statement has no effect",
                "its value is dropped",
            )
            .help("assign the value, or remove the statement"),
        );
        None
    }

    fn range(&mut self, range: &ast::Range<'s>) -> Option<hir::Range> {
        let start = self.expected(&range.start, &Type::Int);
        let end = self.expected(&range.end, &Type::Int);
        let step = range
            .step
            .as_ref()
            .map(|step| (self.expected(step, &Type::Int), step.span));
        if let Some((Some(step), span)) = &step
            && matches!(step.kind, ExpressionKind::Const(Const::Int(0)))
        {
            self.error(
                Diagnostic::new(
                    Code::ZeroStep,
                    *span,
                    "a range with step 0 never ends",
                    "step 0",
                )
                .help("count up with a positive step, down with a negative one"),
            );
        }
        let step = match step {
            Some((step, _)) => Some(step?),
            None => None,
        };
        let site = self.site(range.span);
        Some(hir::Range {
            start: start?,
            end: end?,
            inclusive: range.inclusive,
            step,
            site,
        })
    }

    /// Whether `break` or `continue` has a loop to belong to.
    fn leave(&mut self, span: Span, word: &str) -> bool {
        let enclosing = self
            .enclosing
            .iter()
            .rev()
            .find(|by| !matches!(by, Enclosing::Isolated(_)));
        let construct = match enclosing {
            Some(Enclosing::Loop) => return true,
            Some(Enclosing::Task(construct)) => construct.word(),
            Some(Enclosing::Finish) => "finish",
            Some(Enclosing::Isolated(_)) | None => "",
        };
        if construct.is_empty() {
            let message = format!("`{word}` outside a loop");
            self.error(Diagnostic::new(
                Code::NoLoop,
                span,
                message,
                "no loop around this",
            ));
        } else {
            self.leaves_task(span, word, construct);
        }
        false
    }

    fn leaves_task(&mut self, span: Span, word: &str, construct: &str) {
        let message = format!("`{word}` can't leave the body of `{construct}`");
        self.error(
            Diagnostic::new(
                Code::LeavesTask,
                span,
                message,
                format!("inside `{construct}`"),
            )
            .help("put a condition around what should be skipped"),
        );
    }

    fn return_statement(&mut self, span: Span, value: Option<&ast::Expression<'s>>) -> Statement {
        let construct = self.enclosing.iter().rev().find_map(|by| match by {
            Enclosing::Task(construct) => Some(construct.word()),
            Enclosing::Finish => Some("finish"),
            Enclosing::Loop | Enclosing::Isolated(_) => None,
        });
        if let Some(construct) = construct {
            self.leaves_task(span, "return", construct);
        }
        let result = self.result.clone();
        // A wrong return also ends the path, so its statement is kept.
        let value = match (value, &result) {
            (Some(value), Some(ty)) => self.expected(value, ty),
            (Some(value), None) => {
                let checked = self.expression(value);
                if checked.is_some() && !self.result_broken {
                    let message = format!("`{}` returns nothing", self.name);
                    let help = format!("give it a result type: `fn {}(…): type`", self.name);
                    let label = "a value is returned here";
                    let diagnostic = Diagnostic::new(Code::Mismatch, value.span, message, label);
                    self.error(diagnostic.help(help));
                }
                None
            }
            (None, Some(ty)) => {
                let ty = self.checker.type_name(ty);
                let message = format!("a value of type {ty} must be returned");
                self.error(Diagnostic::new(
                    Code::Mismatch,
                    span,
                    message,
                    "no value here",
                ));
                None
            }
            (None, None) => None,
        };
        let site = self.site(span);
        Statement::Return { value, site }
    }

    fn arguments(&mut self, arguments: &[ast::Argument<'s>]) -> Option<Vec<hir::Argument>> {
        let checked: Vec<_> = arguments
            .iter()
            .map(|argument| match argument {
                ast::Argument::Text(text) => Some(hir::Argument::Text(text.clone())),
                ast::Argument::Value(value) => self.expression(value).map(hir::Argument::Value),
            })
            .collect();
        checked.into_iter().collect()
    }

    fn spawn(
        &mut self,
        span: Span,
        place: Option<&ast::Expression<'s>>,
        callee: ast::Name<'s>,
        arguments: &[ast::Expression<'s>],
    ) -> Option<Statement> {
        let target = place.map(|place| (self.target(place), place));
        let Some(function) = self.function_named(callee, Code::SpawnCallee) else {
            for argument in arguments {
                self.expression(argument);
            }
            return None;
        };
        let arguments = self.call_arguments(span, function, arguments);
        let site = self.statement_site(span);
        let target = match target {
            None => None,
            Some((Some(Target::Shared(place)), written)) => {
                let Some(result) = self.checker.signatures[function.index()].result.clone() else {
                    self.no_value(callee, written.span);
                    return None;
                };
                if !assignable(&result, &place.ty) {
                    let names = [&place.ty, &result].map(|ty| self.checker.type_name(ty));
                    let message = format!(
                        "expected {}, but `{}` returns {}",
                        names[0], callee.text, names[1]
                    );
                    let label = format!("returns {}", names[1]);
                    self.error(Diagnostic::new(Code::Mismatch, callee.span, message, label));
                    return None;
                }
                let access = self
                    .checker
                    .access(site, place.site, AccessKind::Write, self.name);
                Some((place, access))
            }
            Some((Some(Target::Local(_)), written)) => {
                self.error(
                    Diagnostic::new(
                        Code::SpawnPlace,
                        written.span,
                        "the result of a spawn can't go to a local",
                        "private to this task",
                    )
                    .help("spawn into an element, a field or a global"),
                );
                return None;
            }
            Some((None, _)) => return None,
        };
        Some(Statement::Spawn {
            function,
            arguments: arguments?,
            target,
            site,
        })
    }
}

/// Whether the place that an object is first stored in can name the object: `a.b` or `m[i]`, but
/// not `rows[f(x) + 1].next`.
fn is_short_path(place: &ast::Expression, text: &str) -> bool {
    const LONGEST: usize = 30;
    let named = match &place.kind {
        ast::ExpressionKind::Name(_) | ast::ExpressionKind::Int(_) => true,
        ast::ExpressionKind::Field { object, .. } => is_short_path(object, text),
        ast::ExpressionKind::Index { array, indices } => {
            let all = std::iter::once(&**array).chain(indices);
            all.into_iter().all(|part| is_short_path(part, text))
        }
        _ => false,
    };
    named && text.len() <= LONGEST && !text.contains(char::is_whitespace)
}
