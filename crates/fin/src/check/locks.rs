//! Locks: how they are made, `locked`, `acquire` and `release`.

use super::body::BodyChecker;
use crate::diagnostic::{Code, Diagnostic};
use crate::hir::{Expression, ExpressionKind, Statement, Type};
use crate::span::Span;
use crate::syntax::ast;
use finishline_ir::Construct;
use finishline_model::AccessKind;

impl<'s> BodyChecker<'_, 's> {
    pub(super) fn new_lock(&mut self, span: Span) -> Expression {
        self.checker.uses(Construct::Lock, span);
        let site = self.site(span);
        let allocation = self.checker.allocation(site, "lock".to_owned());
        Expression {
            kind: ExpressionKind::NewLock { allocation },
            ty: Type::Lock,
            site,
        }
    }

    /// `new lock[sizes]`, with the type of the array.
    pub(super) fn new_locks(&mut self, sizes: Vec<Expression>, ty: Type, span: Span) -> Expression {
        self.checker.uses(Construct::Lock, span);
        let site = self.site(span);
        let allocation = self.checker.allocation(site, self.checker.type_name(&ty));
        let of_lock = self.checker.allocation(site, "lock".to_owned());
        let kind = ExpressionKind::NewLocks {
            sizes,
            allocation,
            of_lock,
            access: self
                .checker
                .access(site, site, AccessKind::Write, self.name),
        };
        Expression { kind, ty, site }
    }

    /// `locked (lock) body`. The body may be left by `break`, `continue` and `return`.
    pub(super) fn locked(
        &mut self,
        head: Span,
        lock: &ast::Expression<'s>,
        body: &ast::Block<'s>,
    ) -> Option<Statement> {
        self.parallel(Construct::Lock, head);
        let lock = self.expected(lock, &Type::Lock);
        let block = self.block(body);
        let end = self.checker.end_of(body.span);
        let site = self.site(head);
        // A wrong lock has been reported. The analysis of paths that return still sees the block.
        Some(match lock {
            Some(lock) => Statement::Locked {
                lock,
                block,
                site,
                end,
            },
            None => Statement::Block(block),
        })
    }

    /// `acquire(lock);` or `release(lock);`.
    pub(super) fn lock_operation(
        &mut self,
        span: Span,
        callee: ast::Name<'s>,
        arguments: &[ast::Expression<'s>],
    ) -> Option<Statement> {
        self.parallel(Construct::Lock, callee.span);
        let [lock] = arguments else {
            self.wrong_count(span, callee.text, 1, arguments.len(), None);
            return None;
        };
        let lock = self.expected(lock, &Type::Lock)?;
        let site = self.site(span);
        Some(match callee.text {
            "acquire" => Statement::Acquire { lock, site },
            _ => Statement::Release { lock, site },
        })
    }

    /// `acquire` or `release` where a value is needed.
    pub(super) fn lock_value(&mut self, callee: ast::Name<'s>, span: Span) {
        let message = format!("`{}` returns nothing", callee.text);
        let label = "a value is needed here";
        self.error(Diagnostic::new(Code::NoValue, span, message, label));
    }
}

pub(super) fn is_lock_operation(name: &str) -> bool {
    matches!(name, "acquire" | "release")
}
