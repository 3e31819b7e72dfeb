//! Checks names, types, and the rules of the parallel constructs.
//!
//! Three steps:
//! 1. Items are declared, so their order does not matter.
//! 2. A [`body::BodyChecker`] checks each function body.
//! 3. Rules about the whole call graph: a call inside `isolated` must not reach a parallel
//!    statement.
//!
//! An expression that fails to check is `None`. No further errors are reported about it, so one
//! mistake is one error.

mod body;
mod calls;
mod expressions;
mod locks;
mod operators;
mod places;
mod promises;
mod statements;

use crate::diagnostic::{Code, Diagnostic, MOST_SHOWN};
use crate::hir::{self, FunctionId, GlobalId, StructId, Type};
use crate::span::{LineIndex, Span};
use crate::syntax::ast;
use finishline_ir::{Const, Construct, ConstructUse, MathFunction, UnaryOp};
use finishline_model::source::{AccessInfo, AllocationInfo, Site, SourceMap};
use finishline_model::{AccessId, AccessKind, AllocationId, SiteId};
use rustc_hash::FxHashMap;

/// Checks a file. The program is there if there are no errors.
pub fn check(path: &str, text: &str, file: &ast::File) -> (Option<hir::Program>, Vec<Diagnostic>) {
    let mut checker = Checker::new(path, text);
    checker.declare(file);
    let functions = file.functions.iter().enumerate();
    let bodies: Vec<_> = functions
        .map(|(at, function)| {
            body::check_function(&mut checker, FunctionId::from_index(at), function)
        })
        .collect();
    checker.refuse_parallel_calls_in_isolated();
    let main = checker.main(file);
    let Checker {
        source,
        structs,
        globals,
        constructs,
        errors,
        ..
    } = checker;
    let program = main.map(|main| hir::Program {
        source,
        structs,
        globals,
        functions: bodies,
        main,
        constructs,
    });
    (program.filter(|_| errors.is_empty()), errors)
}

/// What a name outside functions stands for.
#[derive(Clone)]
enum Item {
    Struct(StructId),
    Function(FunctionId),
    Global(GlobalId),
    Constant(Const, Type),
    /// The declaration had an error. Uses report no further one.
    Broken,
}

struct Signature {
    parameters: Vec<Option<Type>>,
    result: Option<Type>,
    name: Span,
}

/// Facts about a function that matter to calls from inside `isolated`.
#[derive(Default)]
struct Effects {
    /// The first parallel statement in the function.
    parallel: Option<(Construct, Span)>,
    calls: Vec<FunctionId>,
}

struct Checker<'s> {
    text: &'s str,
    lines: LineIndex,
    source: SourceMap,
    errors: Vec<Diagnostic>,
    items: FxHashMap<&'s str, (Item, Span)>,
    structs: Vec<hir::Struct>,
    /// Fields whose types are unknown because of an error.
    broken_fields: Vec<Vec<&'s str>>,
    globals: Vec<hir::Global>,
    signatures: Vec<Signature>,
    effects: Vec<Effects>,
    calls_in_isolated: Vec<(FunctionId, Span)>,
    constructs: Vec<ConstructUse>,
}

impl<'s> Checker<'s> {
    fn new(path: &str, text: &'s str) -> Self {
        let mut checker = Checker {
            text,
            lines: LineIndex::new(text),
            source: SourceMap {
                path: path.to_owned(),
                text: text.to_owned(),
                ..SourceMap::default()
            },
            errors: Vec::new(),
            items: FxHashMap::default(),
            structs: Vec::new(),
            broken_fields: Vec::new(),
            globals: Vec::new(),
            signatures: Vec::new(),
            effects: Vec::new(),
            calls_in_isolated: Vec::new(),
            constructs: Vec::new(),
        };
        let file = checker.site(Span::new(0, 0));
        checker.allocation(file, "globals".to_owned());
        checker
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.errors.push(diagnostic);
    }

    fn site(&mut self, span: Span) -> SiteId {
        let (line, column) = self.lines.position(span.start);
        let id = SiteId::from_index(self.source.sites.len());
        self.source.sites.push(Site {
            start: span.start,
            end: span.end,
            line,
            column,
        });
        id
    }

    fn access(
        &mut self,
        site: SiteId,
        place: SiteId,
        kind: AccessKind,
        function: &str,
    ) -> AccessId {
        let id = AccessId::from_index(self.source.accesses.len());
        self.source.accesses.push(AccessInfo {
            site,
            place,
            kind,
            function: function.to_owned(),
        });
        id
    }

    fn allocation(&mut self, site: SiteId, name: String) -> AllocationId {
        let id = AllocationId::from_index(self.source.allocations.len());
        self.source.allocations.push(AllocationInfo { site, name });
        id
    }

    fn type_name(&self, ty: &Type) -> String {
        ty.display(&self.structs).to_string()
    }

    /// Declares an item unless the name is taken.
    fn declare_item(&mut self, name: ast::Name<'s>, item: Item) {
        if let Some((_, first)) = self.items.get(name.text) {
            let first = *first;
            self.error(
                Diagnostic::new(
                    Code::Duplicate,
                    name.span,
                    format!("`{}` is declared twice", name.text),
                    "declared again here",
                )
                .label(first, "first declared here"),
            );
        } else if matches!(item, Item::Function(_)) && is_builtin(name.text) {
            let message = format!("`{}` is a built-in function", name.text);
            self.error(Diagnostic::new(
                Code::Duplicate,
                name.span,
                message,
                "choose another name",
            ));
        } else {
            self.items.insert(name.text, (item, name.span));
        }
    }

    fn declare(&mut self, file: &ast::File<'s>) {
        for (at, declared) in file.structs.iter().enumerate() {
            self.declare_item(declared.name, Item::Struct(StructId::from_index(at)));
            self.structs.push(hir::Struct {
                name: declared.name.text.to_owned(),
                fields: Vec::new(),
            });
            self.broken_fields.push(Vec::new());
        }
        for (at, declared) in file.structs.iter().enumerate() {
            self.fields(at, declared);
        }
        for function in &file.functions {
            let at = FunctionId::from_index(self.signatures.len());
            self.declare_item(function.name, Item::Function(at));
            let parameters = function
                .parameters
                .iter()
                .map(|parameter| self.ty(&parameter.ty))
                .collect();
            let result = function.result.as_ref().and_then(|ty| self.ty(ty));
            self.signatures.push(Signature {
                parameters,
                result,
                name: function.name.span,
            });
            self.effects.push(Effects::default());
        }
        for global in &file.globals {
            let item = self.global(global).unwrap_or(Item::Broken);
            self.declare_item(global.name, item);
        }
    }

    fn fields(&mut self, at: usize, declared: &ast::Struct<'s>) {
        let mut first: FxHashMap<&str, Span> = FxHashMap::default();
        for field in &declared.fields {
            let name = field.name;
            if let Some(before) = first.insert(name.text, name.span) {
                let message = format!("the field `{}` is declared twice", name.text);
                self.error(
                    Diagnostic::new(Code::Duplicate, name.span, message, "declared again here")
                        .label(before, "first declared here"),
                );
                continue;
            }
            match self.ty(&field.ty) {
                Some(ty) => self.structs[at].fields.push((name.text.to_owned(), ty)),
                None => self.broken_fields[at].push(name.text),
            }
        }
    }

    fn global(&mut self, global: &ast::Global<'s>) -> Option<Item> {
        let declared = match &global.ty {
            Some(ty) => Some(self.ty(ty)?),
            None => None,
        };
        let literal = match &global.value {
            Some(value) => Some((self.literal(value)?, value.span)),
            None => None,
        };
        let (ty, initial) = match (declared, literal) {
            (None, None) | (None, Some((Const::Null, _))) => {
                let message = format!("the type of `{}` can't be seen", global.name.text);
                self.error(
                    Diagnostic::new(Code::NeedsType, global.name.span, message, "no type here")
                        .help(format!("write `{}: int`, for example", global.name.text)),
                );
                return None;
            }
            (None, Some((value, _))) => (constant_type(value), value),
            (Some(ty), None) if global.mutable => {
                let zero = Const::zero(ty.ir());
                (ty, zero)
            }
            (Some(_), None) => {
                let message = format!("the constant `{}` has no value", global.name.text);
                self.error(
                    Diagnostic::new(
                        Code::GlobalValue,
                        global.name.span,
                        message,
                        "no value here",
                    )
                    .help("write `= literal`, or `var` for a variable"),
                );
                return None;
            }
            (Some(ty), Some((value, span))) => {
                if !assignable(&constant_type(value), &ty) {
                    let found = constant_type(value);
                    self.mismatch(span, &ty, &found, "");
                    return None;
                }
                (ty, value)
            }
        };
        if !global.mutable {
            return Some(Item::Constant(initial, ty));
        }
        let id = GlobalId::from_index(self.globals.len());
        self.globals.push(hir::Global {
            name: global.name.text.to_owned(),
            ty,
            initial,
            is_given: global.value.is_some(),
        });
        Some(Item::Global(id))
    }

    /// A literal, or a negated number.
    fn literal(&mut self, value: &ast::Expression) -> Option<Const> {
        use ast::ExpressionKind as E;
        match &value.kind {
            E::Int(value) => Some(Const::Int(*value)),
            E::Float(value) => Some(Const::Float(*value)),
            E::Bool(value) => Some(Const::Bool(*value)),
            E::Byte(value) => Some(Const::Byte(*value)),
            E::Null => Some(Const::Null),
            E::Unary(UnaryOp::Negate, operand)
                if matches!(operand.kind, E::Int(_) | E::Float(_)) =>
            {
                match self.literal(operand)? {
                    Const::Int(value) => Some(Const::Int(value.wrapping_neg())),
                    Const::Float(value) => Some(Const::Float(-value)),
                    _ => None,
                }
            }
            E::Error => None,
            _ => {
                self.error(
                    Diagnostic::new(
                        Code::GlobalValue,
                        value.span,
                        "a global starts with a literal",
                        "not a literal",
                    )
                    .help("assign it at the start of `main`"),
                );
                None
            }
        }
    }

    fn ty(&mut self, ty: &ast::Type<'s>) -> Option<Type> {
        let mut result = match &ty.base {
            ast::BaseType::Int => Type::Int,
            ast::BaseType::Float => Type::Float,
            ast::BaseType::Bool => Type::Bool,
            ast::BaseType::Byte => Type::Byte,
            ast::BaseType::Named(name) => Type::Struct(self.struct_named(*name)?),
            ast::BaseType::Lock => Type::Lock,
            ast::BaseType::Promise(carried) => Type::Promise(Box::new(self.ty(carried)?)),
            ast::BaseType::Future(carried) => Type::Future(Box::new(self.ty(carried)?)),
            ast::BaseType::Error => return None,
        };
        for dimensions in &ty.suffixes {
            result = Type::Array {
                element: Box::new(result),
                dimensions: *dimensions,
            };
        }
        Some(result)
    }

    fn struct_named(&mut self, name: ast::Name<'s>) -> Option<StructId> {
        match self.items.get(name.text) {
            Some((Item::Struct(id), _)) => Some(*id),
            Some((Item::Broken, _)) => None,
            found => {
                let other = found.map(|(_, span)| *span);
                let types = self.structs.iter().map(|declared| declared.name.as_str());
                let help = self.nearest(
                    name.text,
                    types.chain(["int", "float", "bool", "byte", "lock"]),
                );
                let message = format!("there is no type `{}`", name.text);
                let mut diagnostic =
                    Diagnostic::new(Code::UnknownType, name.span, message, "not a type");
                if let Some(span) = other {
                    diagnostic = diagnostic.label(span, "this is not a struct");
                }
                self.error(with_suggestion(diagnostic, help));
                None
            }
        }
    }

    fn mismatch(&mut self, span: Span, expected: &Type, found: &Type, why: &str) {
        let (expected_name, found_name) = (self.type_name(expected), self.type_name(found));
        let message = format!("expected {expected_name}, found {found_name}{why}");
        let mut diagnostic = Diagnostic::new(
            Code::Mismatch,
            span,
            message,
            format!("this is {found_name}"),
        );
        if expected.is_number() && found.is_number() {
            diagnostic = diagnostic.help(format!(
                "convert it: `{expected_name}({})`",
                span.text(self.text)
            ));
        }
        self.error(diagnostic);
    }

    /// The candidate with the fewest edits to `name`, if the edits are few.
    fn nearest<'a>(&self, name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
        // Hints past the errors shown are not read, and very long names are machine-made.
        if self.errors.len() >= MOST_SHOWN || name.len() > 40 {
            return None;
        }
        // A name of one or two letters resembles every other one.
        let most = name.len() / 3;
        candidates
            .filter(|candidate| candidate.len().abs_diff(name.len()) <= most)
            .take(10_000)
            .map(|candidate| (edits(name.as_bytes(), candidate.as_bytes()), candidate))
            .filter(|(distance, _)| *distance <= most)
            .min()
            .map(|(_, candidate)| candidate.to_owned())
    }

    /// Records the first use of a construct.
    fn uses(&mut self, construct: Construct, span: Span) {
        if !self
            .constructs
            .iter()
            .any(|used| used.construct == construct)
        {
            let site = self.site(span);
            self.constructs.push(ConstructUse { construct, site });
        }
    }

    /// A call inside `isolated` must not reach a parallel statement, however many calls away.
    fn refuse_parallel_calls_in_isolated(&mut self) {
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); self.effects.len()];
        for (caller, effects) in self.effects.iter().enumerate() {
            for callee in &effects.calls {
                callers[callee.index()].push(caller);
            }
        }
        let mut work: Vec<usize> = (0..self.effects.len())
            .filter(|at| self.effects[*at].parallel.is_some())
            .collect();
        while let Some(callee) = work.pop() {
            for &caller in &callers[callee] {
                if self.effects[caller].parallel.is_none() {
                    self.effects[caller].parallel = self.effects[callee].parallel;
                    work.push(caller);
                }
            }
        }
        for (callee, span) in std::mem::take(&mut self.calls_in_isolated) {
            if let Some((construct, at)) = self.effects[callee.index()].parallel {
                let name = self.signatures[callee.index()].name.text(self.text);
                let word = match construct {
                    Construct::Promise => "get",
                    Construct::Lock => at.text(self.text),
                    _ => construct.word(),
                };
                let message = format!("`{name}` can't be called inside isolated: it uses `{word}`");
                self.error(
                    Diagnostic::new(
                        Code::CallInIsolated,
                        span,
                        message,
                        "called inside isolated",
                    )
                    .label(at, format!("`{word}` here"))
                    .help("move the call out of the isolated block"),
                );
            }
        }
    }

    fn main(&mut self, file: &ast::File<'s>) -> Option<FunctionId> {
        let Some((Item::Function(main), _)) = self.items.get("main") else {
            // After other errors, `main` may be declared but unreadable.
            if self.errors.is_empty() {
                let end = self.text.trim_end().len() as u32;
                let message = "there is no function `main`";
                self.error(
                    Diagnostic::new(
                        Code::NoMain,
                        Span::new(end, end),
                        message,
                        "expected `fn main(…)` in this file",
                    )
                    .help("a program starts at `fn main() { … }`"),
                );
            }
            return None;
        };
        let main = *main;
        let function = &file.functions[main.index()];
        let types = self.signatures[main.index()].parameters.clone();
        for (parameter, ty) in function.parameters.iter().zip(types) {
            if let Some(ty) = ty.filter(Type::is_reference) {
                let message = format!(
                    "a parameter of main can't be of type {}",
                    self.type_name(&ty)
                );
                self.error(
                    Diagnostic::new(
                        Code::MainParameter,
                        parameter.ty.span,
                        message,
                        "cannot come from a command line",
                    )
                    .help(
                        "parameters of main are int, float, bool or byte; make other values inside",
                    ),
                );
            }
        }
        if let Some(result) = &function.result {
            self.error(
                Diagnostic::new(
                    Code::MainResult,
                    result.span,
                    "main returns nothing",
                    "remove this",
                )
                .help("print the result instead"),
            );
        }
        Some(main)
    }
}

fn constant_type(value: Const) -> Type {
    match value {
        Const::Int(_) => Type::Int,
        Const::Float(_) => Type::Float,
        Const::Bool(_) => Type::Bool,
        Const::Byte(_) => Type::Byte,
        Const::Null => Type::Null,
    }
}

/// Whether a value of type `from` can be stored where `to` is expected.
fn assignable(from: &Type, to: &Type) -> bool {
    from == to || (*from == Type::Null && to.is_reference())
}

fn is_builtin(name: &str) -> bool {
    name == "len"
        || locks::is_lock_operation(name)
        || MathFunction::ALL
            .iter()
            .any(|function| function.word() == name)
}

fn with_suggestion(diagnostic: Diagnostic, suggestion: Option<String>) -> Diagnostic {
    match suggestion {
        Some(name) => diagnostic.help(format!("did you mean `{name}`?")),
        None => diagnostic,
    }
}

/// Levenshtein distance.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
