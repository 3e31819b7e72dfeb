//! Makes a small failing program from a large one.
//!
//! The search is greedy. It tries smaller variants in a fixed order, from the coarsest edit to the
//! finest. It keeps each variant that still fails, until no edit helps. An edit may make the
//! program invalid: a name is no longer declared, a `begin_finish` loses its end. So `fails` should
//! refuse a program that does not compile, and one that fails in another way.
//!
//! Every kept variant is strictly smaller in [`size`], a pair of natural numbers compared
//! lexicographically, so the search ends. For each kept variant it calls `fails` at most a small
//! multiple of the square of the program's size. In practice it makes some hundred calls in all.

use crate::shape::{Argument, Expression, Literal, Name, Program, Range, Statement};

/// A smallest reachable program for which `fails` holds. It must hold for `program`.
pub fn shrink(program: &Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut shrinker = Shrinker {
        best: program.clone(),
        best_size: size(program),
        fails,
    };
    loop {
        let before = shrinker.best_size;
        shrinker.drop_declarations();
        shrinker.drop_statements();
        shrinker.unwrap_bodies();
        shrinker.simplify_statements();
        shrinker.simplify_expressions();
        if shrinker.best_size == before {
            return shrinker.best;
        }
    }
}

/// The size of a program: the number of its parts, then the distance of its literals from the
/// simplest ones.
pub fn size(program: &Program) -> (u64, u64) {
    let mut total = Size::default();
    total.parts += program
        .structs
        .iter()
        .map(|s| 1 + s.fields.len() as u64)
        .sum::<u64>();
    for global in &program.globals {
        total.parts += 1;
        total.parts += u64::from(global.initial.is_some()) + u64::from(global.ty.is_some());
        total.literals += global.initial.map_or(0, distance);
    }
    for function in &program.functions {
        total.parts += 1 + function.parameters.len() as u64 + u64::from(function.result.is_some());
        total.body(&function.body);
    }
    (total.parts, total.literals)
}

#[derive(Default)]
struct Size {
    parts: u64,
    literals: u64,
}

impl Size {
    fn body(&mut self, body: &[Statement]) {
        for statement in body {
            self.parts += 1 + extras(statement);
            for expression in statement.expressions() {
                self.expression(expression);
            }
            for inner in statement.bodies() {
                self.body(inner);
            }
        }
    }

    fn expression(&mut self, expression: &Expression) {
        self.parts += 1;
        if let Expression::Literal(literal) = expression {
            self.literals += distance(*literal);
        }
        for operand in expression.operands() {
            self.expression(operand);
        }
    }
}

/// Parts of a statement that are neither expressions nor statements.
fn extras(statement: &Statement) -> u64 {
    match statement {
        Statement::Let { ty, .. } | Statement::Var { ty, .. } => u64::from(ty.is_some()),
        Statement::Assign { op, .. } => u64::from(op.is_some()),
        Statement::If { otherwise, .. } => u64::from(otherwise.is_some()),
        Statement::For {
            parallel, range, ..
        } => 2 * u64::from(*parallel) + u64::from(range.inclusive),
        Statement::Print(arguments) | Statement::Assert(_, arguments) => texts(arguments),
        _ => 0,
    }
}

fn texts(arguments: &[Argument]) -> u64 {
    let is_text = |a: &&Argument| matches!(a, Argument::Text(_));
    arguments.iter().filter(is_text).count() as u64
}

/// 0 for the simplest literal of its type.
fn distance(literal: Literal) -> u64 {
    match literal {
        Literal::Int(value) => {
            u64::from(64 - value.unsigned_abs().leading_zeros()) + u64::from(value < 0)
        }
        Literal::Float(value) => u64::from(value != 0.0) + u64::from(value != 1.0),
        Literal::Bool(value) => u64::from(value),
        Literal::Byte(value) => u64::from(8 - value.leading_zeros()),
        Literal::Null => 0,
    }
}

struct Shrinker<'a> {
    best: Program,
    best_size: (u64, u64),
    fails: &'a mut dyn FnMut(&Program) -> bool,
}

impl Shrinker<'_> {
    /// Keeps the variant if it is smaller and still fails.
    fn try_variant(&mut self, variant: Program) -> bool {
        let size = size(&variant);
        let keep = size < self.best_size && (self.fails)(&variant);
        if keep {
            self.best = variant;
            self.best_size = size;
        }
        keep
    }

    fn try_edit(&mut self, edit: impl FnOnce(&mut Program)) -> bool {
        let mut variant = self.best.clone();
        edit(&mut variant);
        self.try_variant(variant)
    }

    /// Applies an edit to each item in turn, by number. A kept edit may have removed or changed the
    /// item, so the same number is tried again.
    fn for_each(
        &mut self,
        count: impl Fn(&Program) -> usize,
        mut attempt: impl FnMut(&mut Self, usize) -> bool,
    ) {
        let mut index = 0;
        while index < count(&self.best) {
            if !attempt(self, index) {
                index += 1;
            }
        }
    }

    fn drop_declarations(&mut self) {
        self.for_each(
            |p| p.functions.len(),
            |this, index| {
                // Drop it alone, or with another function: one may open a finish and the other
                // close it.
                this.try_edit(|p| drop_function(p, index))
                    || (0..index).any(|other| {
                        this.try_edit(|p| {
                            drop_function(p, index);
                            drop_function(p, other);
                        })
                    })
            },
        );
        self.for_each(
            |p| p.functions.len(),
            |this, index| {
                let parameters = this.best.functions[index].parameters.len();
                (0..parameters).any(|at| this.try_edit(|p| drop_parameter(p, index, at)))
                    || this.try_edit(|p| drop_result(p, index))
            },
        );
        self.for_each(
            |p| p.globals.len(),
            |this, index| {
                this.try_edit(|p| drop(p.globals.remove(index)))
                    || this.try_edit(|p| {
                        let global = &mut p.globals[index];
                        if global.ty.is_some() && !global.constant {
                            global.initial = None;
                        }
                    })
            },
        );
        self.for_each(
            |p| p.structs.len(),
            |this, index| {
                let fields = this.best.structs[index].fields.len();
                this.try_edit(|p| drop(p.structs.remove(index)))
                    || (0..fields)
                        .any(|at| this.try_edit(|p| drop(p.structs[index].fields.remove(at))))
            },
        );
    }

    /// Removes runs of statements of one body, halves first, then any two. Two statements may only
    /// go together, such as `begin_finish` and `end_finish`, or a declaration and its only use.
    fn drop_statements(&mut self) {
        self.for_each(count_bodies, |this, index| {
            let mut length = 0;
            edit_body(&mut this.best, index, &mut |body| length = body.len());
            let mut remove = |removed: &[usize]| {
                this.try_edit(|p| {
                    edit_body(p, index, &mut |body| {
                        removed.iter().rev().for_each(|&at| drop(body.remove(at)));
                    });
                })
            };
            let mut run = length;
            while run > 0 {
                for start in (0..=length - run).rev() {
                    let consecutive: Vec<usize> = (start..start + run).collect();
                    if remove(&consecutive) {
                        return true;
                    }
                }
                run /= 2;
            }
            (1..length)
                .rev()
                .any(|second| (0..second).rev().any(|first| remove(&[first, second])))
        });
    }

    /// `async { s }` becomes `s`, and likewise for every other statement with statements in it.
    fn unwrap_bodies(&mut self) {
        self.for_each(count_statements, |this, index| {
            let bodies = this.statement(index).map_or(0, |s| s.bodies().len());
            (0..bodies).any(|which| {
                this.try_edit(|p| {
                    edit_statement(p, index, &mut |statement| {
                        std::mem::take(statement.bodies_mut().swap_remove(which))
                    });
                })
            })
        });
    }

    fn statement(&mut self, index: usize) -> Option<Statement> {
        let mut found = None;
        edit_statement(&mut self.best, index, &mut |statement| {
            found = Some(statement.clone());
            vec![statement.clone()]
        });
        found
    }

    fn simplify_statements(&mut self) {
        self.for_each(count_statements, |this, index| {
            let simpler = this
                .statement(index)
                .map_or(Vec::new(), |s| simpler_statements(&s));
            simpler.into_iter().any(|simpler| {
                this.try_edit(|p| edit_statement(p, index, &mut |_| vec![simpler.clone()]))
            })
        });
    }

    fn simplify_expressions(&mut self) {
        self.for_each(count_expressions, |this, index| {
            let mut simpler = Vec::new();
            edit_expression(&mut this.best, index, &mut |e| {
                simpler = simpler_expressions(e)
            });
            simpler.into_iter().any(|simpler| {
                this.try_edit(|p| edit_expression(p, index, &mut |e| *e = simpler.clone()))
            })
        });
    }
}

/// Removes the function and every statement that calls it.
fn drop_function(program: &mut Program, index: usize) {
    let name = program.functions.remove(index).name;
    visit_bodies(program, &mut |body| {
        body.retain(|statement| !statement.mentions(name));
    });
}

/// Removes a parameter, and its argument from every call.
fn drop_parameter(program: &mut Program, function: usize, at: usize) {
    let name = program.functions[function].name;
    program.functions[function].parameters.remove(at);
    let remove = |arguments: &mut Vec<Expression>| {
        if at < arguments.len() {
            arguments.remove(at);
        }
    };
    visit_bodies(program, &mut |body| {
        for statement in body {
            if let Statement::Spawn {
                function,
                arguments,
                ..
            } = statement
                && *function == name
            {
                remove(arguments);
            }
            for expression in statement.expressions_mut() {
                for_calls(expression, name, &remove);
            }
        }
    });
}

fn for_calls(expression: &mut Expression, name: Name, edit: &dyn Fn(&mut Vec<Expression>)) {
    if let Expression::Call(function, arguments) = expression
        && *function == name
    {
        edit(arguments);
    }
    for operand in expression.operands_mut() {
        for_calls(operand, name, edit);
    }
}

fn drop_result(program: &mut Program, index: usize) {
    let function = &mut program.functions[index];
    function.result = None;
    fn returns(body: &mut Vec<Statement>) {
        for statement in body {
            if let Statement::Return(value) = statement {
                *value = None;
            }
            statement.bodies_mut().into_iter().for_each(returns);
        }
    }
    returns(&mut function.body);
}

/// Versions of the statement with one part less.
fn simpler_statements(statement: &Statement) -> Vec<Statement> {
    let mut out = Vec::new();
    let mut variant = |change: &dyn Fn(&mut Statement)| {
        let mut copy = statement.clone();
        change(&mut copy);
        if copy != *statement {
            out.push(copy);
        }
    };
    variant(&|s| {
        if let Statement::If { otherwise, .. } = s {
            *otherwise = None;
        }
    });
    variant(&|s| {
        if let Statement::For { parallel, .. } = s {
            *parallel = false;
        }
    });
    variant(&|s| {
        if let Statement::For { range, .. } = s {
            *range = Range {
                start: Expression::int(0),
                end: Expression::int(1),
                inclusive: false,
                step: None,
            };
        }
    });
    variant(&|s| {
        if let Statement::For { range, .. } = s {
            range.step = None;
            range.inclusive = false;
        }
    });
    variant(&|s| {
        if let Statement::Assign { op, .. } = s {
            *op = None;
        }
    });
    variant(&|s| {
        if let Statement::Spawn { place, .. } = s {
            *place = None;
        }
    });
    variant(&|s| {
        if let Statement::Let { ty, .. }
        | Statement::Var {
            ty, value: Some(_), ..
        } = s
        {
            *ty = None;
        }
    });
    variant(&|s| {
        if let Statement::Print(arguments) | Statement::Assert(_, arguments) = s {
            arguments.pop();
        }
    });
    out
}

/// Simpler expressions to replace it with. Not all have its type.
fn simpler_expressions(expression: &Expression) -> Vec<Expression> {
    let mut out: Vec<Expression> = match expression {
        Expression::Literal(Literal::Int(value)) => [0, 1, value / 2].map(Expression::int).into(),
        Expression::Literal(Literal::Bool(_)) => vec![Expression::bool(false)],
        Expression::Literal(Literal::Float(_)) => [1.0, 0.0]
            .map(|value| Expression::Literal(Literal::Float(value)))
            .into(),
        Expression::Literal(Literal::Byte(value)) => [0, 1, value / 2]
            .map(|value| Expression::Literal(Literal::Byte(value)))
            .into(),
        Expression::Literal(Literal::Null) | Expression::Name(_) | Expression::NewStruct(_) => {
            Vec::new()
        }
        _ => [
            Literal::Int(0),
            Literal::Int(1),
            Literal::Bool(false),
            Literal::Bool(true),
            Literal::Float(0.0),
            Literal::Byte(0),
        ]
        .map(Expression::Literal)
        .into(),
    };
    out.extend(expression.operands().into_iter().cloned());
    out
}

/// Visits every body, each before those inside it. Bodies, statements and expressions are numbered
/// in this order.
fn visit_bodies(program: &mut Program, visit: &mut dyn FnMut(&mut Vec<Statement>)) {
    fn walk(body: &mut Vec<Statement>, visit: &mut dyn FnMut(&mut Vec<Statement>)) {
        visit(body);
        for inner in body.iter_mut().flat_map(Statement::bodies_mut) {
            walk(inner, visit);
        }
    }
    for function in &mut program.functions {
        walk(&mut function.body, visit);
    }
}

fn count_bodies(program: &Program) -> usize {
    let statements = program.statements();
    let inner: usize = statements.iter().map(|s| s.bodies().len()).sum();
    program.functions.len() + inner
}

fn edit_body(program: &mut Program, index: usize, edit: &mut dyn FnMut(&mut Vec<Statement>)) {
    let mut number = 0;
    visit_bodies(program, &mut |body| {
        if number == index {
            edit(body);
        }
        number += 1;
    });
}

fn count_statements(program: &Program) -> usize {
    program.statements().len()
}

/// Replaces the statement with this number by others.
fn edit_statement(
    program: &mut Program,
    index: usize,
    edit: &mut dyn FnMut(&mut Statement) -> Vec<Statement>,
) {
    let mut passed = 0;
    visit_bodies(program, &mut |body| {
        let first = passed;
        passed += body.len();
        if (first..passed).contains(&index) {
            let at = index - first;
            let others = edit(&mut body[at]);
            body.splice(at..=at, others);
            // The statements after it have new numbers, so none of them must be found.
            passed = usize::MAX / 2;
        }
    });
}

fn count_expressions(program: &Program) -> usize {
    fn count(expression: &Expression) -> usize {
        1 + expression.operands().into_iter().map(count).sum::<usize>()
    }
    let statements = program.statements();
    let expressions = statements.iter().flat_map(|s| s.expressions());
    expressions.map(count).sum()
}

/// Edits the expression with this number. An expression has a smaller number than its operands.
fn edit_expression(program: &mut Program, index: usize, edit: &mut dyn FnMut(&mut Expression)) {
    fn walk(
        expression: &mut Expression,
        left: &mut Option<usize>,
        edit: &mut dyn FnMut(&mut Expression),
    ) {
        match *left {
            None => return,
            Some(0) => {
                *left = None;
                return edit(expression);
            }
            Some(n) => *left = Some(n - 1),
        }
        for operand in expression.operands_mut() {
            walk(operand, left, edit);
        }
    }
    let mut left = Some(index);
    visit_bodies(program, &mut |body| {
        for expression in body.iter_mut().flat_map(Statement::expressions_mut) {
            walk(expression, &mut left, edit);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Settings, program};
    use crate::render;
    use crate::shape::ScopeKind;

    fn has(program: &Program, property: impl Fn(&Statement) -> bool) -> bool {
        program.statements().into_iter().any(property)
    }

    fn is_scope(statement: &Statement, wanted: ScopeKind) -> bool {
        matches!(statement, Statement::Scope { kind, .. } if *kind == wanted)
    }

    /// Shrinks the first programs that have the property, and returns the results.
    fn shrunk(property: &dyn Fn(&Program) -> bool) -> Vec<Program> {
        let failing = (0..)
            .map(|seed| program(seed, &Settings::default()))
            .filter(|p| property(p));
        failing
            .take(10)
            .map(|program| shrink(&program, &mut |p| property(p)))
            .collect()
    }

    #[test]
    fn one_construct_remains_of_a_program_that_needs_one() {
        for kind in [ScopeKind::Async, ScopeKind::Finish, ScopeKind::Isolated] {
            let needs = |p: &Program| has(p, |s| is_scope(s, kind));
            for small in shrunk(&needs) {
                assert_eq!(size(&small), (2, 0), "{}", render(&small));
            }
        }
    }

    #[test]
    fn nesting_that_matters_remains() {
        let nested = |p: &Program| {
            has(p, |s| {
                is_scope(s, ScopeKind::Finish)
                    && s.bodies()[0]
                        .iter()
                        .any(|inner| is_scope(inner, ScopeKind::Async))
            })
        };
        for small in shrunk(&nested) {
            assert_eq!(size(&small), (3, 0), "{}", render(&small));
        }
    }

    #[test]
    fn pairs_of_statements_go_together() {
        let balanced = |p: &Program| {
            let count =
                |wanted: Statement| p.statements().iter().filter(|s| ***s == wanted).count();
            count(Statement::BeginFinish) == count(Statement::EndFinish)
                && has(p, |s| *s == Statement::Sync)
        };
        for small in shrunk(&balanced) {
            assert_eq!(size(&small), (2, 0), "{}", render(&small));
        }
    }

    #[test]
    fn a_call_keeps_its_function_and_nothing_else() {
        let calls = |p: &Program| {
            let names: Vec<Name> = p.functions.iter().map(|f| f.name).collect();
            let main = p.functions.iter().find(|f| f.name == Name::MAIN);
            main.is_some_and(|main| {
                main.body.iter().any(
                    |s| matches!(s, Statement::Spawn { function, .. } if names.contains(function)),
                )
            })
        };
        for small in shrunk(&calls) {
            assert_eq!(size(&small), (3, 0), "{}", render(&small));
        }
    }

    #[test]
    fn expressions_shrink_to_what_matters() {
        let shifts = |p: &Program| {
            has(p, |s| {
                s.expressions().iter().any(|e| {
                    e.any(&mut |e| {
                        matches!(e, Expression::Binary(crate::shape::BinaryOp::ShiftLeft, _))
                    })
                })
            })
        };
        for small in shrunk(&shifts) {
            // A function, a statement, the operator and its operands, in a place that needs at most
            // one more.
            assert!(size(&small) <= (6, 1), "{}", render(&small));
        }
    }

    #[test]
    fn every_variant_kept_is_smaller_and_fails() {
        let start = program(11, &Settings::default());
        let mut sizes = vec![size(&start)];
        let property = |p: &Program| p.statements().len() >= 3;
        let small = shrink(&start, &mut |p| {
            if property(p) {
                sizes.push(size(p));
            }
            property(p)
        });
        assert!(sizes.windows(2).all(|pair| pair[1] < pair[0]));
        assert_eq!(size(&small), *sizes.last().unwrap());
        assert_eq!(small.statements().len(), 3);
    }

    #[test]
    fn a_program_that_cannot_shrink_stays() {
        let start = program(5, &Settings::default());
        assert_eq!(shrink(&start, &mut |p| *p == start), start);
    }
}
