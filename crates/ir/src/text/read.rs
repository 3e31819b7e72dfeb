//! Reading a module from its text.
//!
//! The reader takes any text of the right form. [`verify`](crate::verify) decides whether the
//! module makes sense. The reader itself refuses what has no place in a [`Module`]: functions,
//! blocks and structs out of order, a value that is defined twice, numbers beyond [`LARGEST`].
//!
//! A line without a place gets its own line of the text as its place, and column 1: texts written
//! by hand need no places. The source map has a site for each place. An access has the kind, place
//! and function of the first instruction that names it, an allocation the place of its `new`.

use super::instruction;
use super::scan::{Read, ReadError, Scanner};
use crate::module::*;
use finishline_model::source::{AccessInfo, AllocationInfo, Site, SourceMap};
use finishline_model::{AccessId, AccessKind, AllocationId, Pass, SiteId};
use std::collections::{BTreeMap, HashMap};

/// The largest number of a value, an access or an allocation. A table has an entry for each number
/// up to the largest one: without a limit, a short text could claim much memory.
pub const LARGEST: u32 = (1 << 20) - 1;

/// The module with this text.
pub fn read(text: &str) -> Result<Module, ReadError> {
    let numbered = text.lines().zip(1..);
    let scanners = numbered.map(|(text, line)| Scanner::new(line, text));
    let mut lines = scanners.filter(|scanner| !scanner.is_empty());
    let mut reader = Reader {
        sites: HashMap::new(),
        names: Names::default(),
        module: Module {
            source: SourceMap::default(),
            structs: Vec::new(),
            globals: Vec::new(),
            functions: Vec::new(),
            main: FunctionId(0),
            constructs: Vec::new(),
            unchecked: BTreeMap::new(),
        },
    };
    reader.module(&mut lines)?;
    Ok(reader.finished())
}

struct Reader {
    module: Module,
    /// The site of each place.
    sites: HashMap<(u32, u32), SiteId>,
    names: Names,
}

/// The accesses and allocations that the text names.
#[derive(Default)]
struct Names {
    accesses: HashMap<AccessId, AccessInfo>,
    allocations: HashMap<AllocationId, SiteId>,
    /// One more than the largest number of each.
    access_count: u32,
    allocation_count: u32,
}

impl Reader {
    fn module<'t>(&mut self, lines: &mut impl Iterator<Item = Scanner<'t>>) -> Read<()> {
        let mut main = None;
        while let Some(mut line) = lines.next() {
            let start = line.here();
            if line.takes_word("global") {
                self.global(&mut line)?;
            } else if line.takes_word("uses") {
                let construct = line.one_of("a parallel construct")?;
                let site = self.place(&mut line)?;
                self.module
                    .constructs
                    .push(ConstructUse { construct, site });
            } else if line.takes_word("unchecked") {
                self.unchecked(&mut line)?;
            } else if line.takes_word("main") {
                if main.is_some() {
                    return start.error("there is a second `main`");
                }
                main = Some(FunctionId(line.id("fn")?));
                line.end()?;
            } else if let Some(number) = line.takes_id("struct") {
                in_order(&start, "struct", number, self.module.structs.len())?;
                let layout = structure(&mut line)?;
                self.module.structs.push(layout);
            } else if let Some(number) = line.takes_id("fn") {
                in_order(&start, "fn", number, self.module.functions.len())?;
                let function = self.function(line, lines)?;
                self.module.functions.push(function);
            } else {
                let kinds = "`struct`, `global`, `uses`, `unchecked`, `main` or `fn`";
                return line.expected(kinds);
            }
        }
        match main {
            Some(main) => self.module.main = main,
            None => return Scanner::new(1, "").error("the text has no line `main`"),
        }
        Ok(())
    }

    fn global(&mut self, line: &mut Scanner<'_>) -> Read<()> {
        let start = line.here();
        let number = line.number("the number of the variable")?;
        in_order(&start, "", number, self.module.globals.len())?;
        let name = line.name()?;
        line.symbol(":")?;
        let ty = line.one_of("a type")?;
        line.symbol("=")?;
        let initial = instruction::constant(line, ty)?;
        line.end()?;
        self.module.globals.push(Global { name, initial });
        Ok(())
    }

    fn unchecked(&mut self, line: &mut Scanner<'_>) -> Read<()> {
        let start = line.here();
        let access = AccessId(line.id("acc")?);
        self.names.access_count = at_least(&start, self.names.access_count, access.0)?;
        line.symbol(":")?;
        let mut unchecked = Unchecked::default();
        let start = line.here();
        for reason in line.remainder().split(", ") {
            match (Pass::from_name(reason), reason) {
                (Some(pass), _) => unchecked.by = unchecked.by.with(pass),
                (None, "read ahead") => unchecked.read_ahead = true,
                (None, "") => {}
                (None, _) => return start.error(format!("`{reason}` is no reason")),
            }
        }
        match self.module.unchecked.insert(access, unchecked) {
            None => Ok(()),
            Some(_) => start.error(format!("{access} has reasons already")),
        }
    }

    /// `line` is the first line, behind the number.
    fn function<'t>(
        &mut self,
        mut line: Scanner<'t>,
        lines: &mut impl Iterator<Item = Scanner<'t>>,
    ) -> Read<Function> {
        let head = line.here();
        let name = line.name()?;
        let role = match line.word() {
            "" => Role::Function,
            "async" if line.takes_word("body") => Role::AsyncBody,
            "spawn" if line.takes_word("body") => Role::SpawnBody,
            _ => return line.expected("`async body`, `spawn body` or `(`"),
        };
        line.symbol("(")?;
        let parameters = line.list(")", |line| {
            let name = line.word().to_string();
            line.symbol(":")?;
            Ok((name, line.one_of("a type")?))
        })?;
        let result = match line.takes("->") {
            true => Some(line.one_of("a type")?),
            false => None,
        };
        let frame = match line.takes_word("frame") {
            true => Some(line.number("the size of the frame")?),
            false => None,
        };
        line.symbol("{")?;
        let site = self.place(&mut line)?;
        let mut body = Body {
            function: &name,
            values: Vec::new(),
            blocks: Vec::new(),
        };
        let end = self.body(&mut body, &line, lines)?;
        let Body { values, blocks, .. } = body;
        let values: Vec<Type> = values.iter().map(|ty| ty.unwrap_or(Type::Int)).collect();
        let entry = blocks.first().map_or(&[][..], |block| &block.parameters);
        let types = entry.iter().map(|value| values[value.index()]);
        if !types.eq(parameters.iter().map(|(_, ty)| *ty)) {
            return head.error("the parameters are not those of bb0");
        }
        Ok(Function {
            role,
            parameters: parameters.into_iter().map(|(name, _)| name).collect(),
            result,
            frame: frame.unwrap_or(values.len() as u32),
            values,
            blocks,
            site,
            end,
            name,
        })
    }

    /// The blocks of a function up to its closing brace, whose place is the answer.
    fn body<'t>(
        &mut self,
        body: &mut Body<'_>,
        head: &Scanner<'t>,
        lines: &mut impl Iterator<Item = Scanner<'t>>,
    ) -> Read<SiteId> {
        loop {
            let Some(mut line) = lines.next() else {
                return head.error("the function has no end");
            };
            if line.takes("}") {
                return self.place(&mut line);
            }
            let start = line.here();
            in_order(&start, "bb", line.id("bb")?, body.blocks.len())?;
            let mut parameters = Vec::new();
            if line.takes("(") {
                parameters = line.list(")", |line| body.definition(line))?;
            }
            line.symbol(":")?;
            line.end()?;
            let block = self.block(body, parameters, &line, lines)?;
            body.blocks.push(block);
        }
    }

    fn block<'t>(
        &mut self,
        body: &mut Body<'_>,
        parameters: Vec<Value>,
        head: &Scanner<'t>,
        lines: &mut impl Iterator<Item = Scanner<'t>>,
    ) -> Read<Block> {
        let mut instructions = Vec::new();
        for mut line in lines {
            if let Some(terminator) = instruction::terminator(&mut line)? {
                line.end()?;
                return Ok(Block {
                    parameters,
                    instructions,
                    terminator,
                });
            }
            let start = line.here();
            let mut result = None;
            if line.clone().takes_id("v").is_some() {
                result = Some(body.definition(&mut line)?);
                line.symbol("=")?;
            }
            let ty = result.and_then(|value| body.values[value.index()]);
            let op = instruction::op(&mut line, ty)?;
            let site = self.place(&mut line)?;
            self.note(&start, &op, site, body.function)?;
            instructions.push(Instruction { op, result, site });
        }
        head.error("the block has no `jump`, `branch` or `return`")
    }

    /// Notes the access or the allocation that an instruction names.
    fn note(&mut self, line: &Scanner<'_>, op: &Op, site: SiteId, function: &str) -> Read<()> {
        let (access, kind) = match *op {
            Op::NewStruct { allocation, .. }
            | Op::NewArray { allocation, .. }
            | Op::NewLock { allocation }
            | Op::NewPromise { allocation, .. } => {
                let names = &mut self.names;
                names.allocation_count = at_least(line, names.allocation_count, allocation.0)?;
                names.allocations.entry(allocation).or_insert(site);
                return Ok(());
            }
            Op::Check { access, kind, .. } => (access, kind),
            Op::Load { access, .. } => (access, AccessKind::Read),
            Op::Store { access, .. }
            | Op::PromiseSet {
                access: Some(access),
                ..
            } => (access, AccessKind::Write),
            _ => return Ok(()),
        };
        self.names.access_count = at_least(line, self.names.access_count, access.0)?;
        let info = || AccessInfo {
            site,
            place: site,
            kind,
            function: function.to_string(),
        };
        self.names.accesses.entry(access).or_insert_with(info);
        Ok(())
    }

    /// The end of a line with its place in the source.
    fn place(&mut self, line: &mut Scanner<'_>) -> Read<SiteId> {
        let place = line.place()?;
        Ok(self.site(place.unwrap_or((line.position().0, 1))))
    }

    fn site(&mut self, (line, column): (u32, u32)) -> SiteId {
        let sites = &mut self.module.source.sites;
        *self.sites.entry((line, column)).or_insert_with(|| {
            sites.push(Site {
                start: 0,
                end: 0,
                line,
                column,
            });
            SiteId::from_index(sites.len() - 1)
        })
    }

    /// The module with its source map. Entries that no instruction names are needed too, for the
    /// numbers of the others.
    fn finished(mut self) -> Module {
        let nowhere = self.site((1, 1));
        let mut names = self.names;
        let access = |number| {
            let info = names.accesses.remove(&AccessId(number));
            info.unwrap_or(AccessInfo {
                site: nowhere,
                place: nowhere,
                kind: AccessKind::Read,
                function: String::new(),
            })
        };
        self.module.source.accesses = (0..names.access_count).map(access).collect();
        let allocation = |number| AllocationInfo {
            site: *(names.allocations.get(&AllocationId(number))).unwrap_or(&nowhere),
            name: String::new(),
        };
        // Entry 0 stands for the global variables.
        let allocations = 0..names.allocation_count.max(1);
        self.module.source.allocations = allocations.map(allocation).collect();
        self.module
    }
}

/// A function that is being read.
struct Body<'n> {
    function: &'n str,
    /// None: the text does not define the value.
    values: Vec<Option<Type>>,
    blocks: Vec<Block>,
}

impl Body<'_> {
    /// `v3: int`, the definition of a value.
    fn definition(&mut self, line: &mut Scanner<'_>) -> Read<Value> {
        let start = line.here();
        let value = Value(line.id("v")?);
        at_least(&start, 0, value.0)?;
        line.symbol(":")?;
        let ty = line.one_of("a type")?;
        if self.values.len() <= value.index() {
            self.values.resize(value.index() + 1, None);
        }
        match self.values[value.index()].replace(ty) {
            None => Ok(value),
            Some(_) => start.error(format!("{value} is defined twice")),
        }
    }
}

fn structure(line: &mut Scanner<'_>) -> Read<StructLayout> {
    let name = line.name()?;
    line.symbol("{")?;
    let fields = line.list("}", |line| {
        let name = line.name()?;
        line.symbol(":")?;
        Ok((name, line.one_of("a type")?))
    })?;
    line.end()?;
    Ok(StructLayout { name, fields })
}

/// Things with a number are listed from 0.
fn in_order(line: &Scanner<'_>, prefix: &str, number: u32, expected: usize) -> Read<()> {
    match number as usize == expected {
        true => Ok(()),
        false => line.error(format!(
            "expected {prefix}{expected}, found {prefix}{number}"
        )),
    }
}

/// The length of a table with this number in it, if it has `count` entries already.
fn at_least(line: &Scanner<'_>, count: u32, number: u32) -> Read<u32> {
    match number <= LARGEST {
        true => Ok(count.max(number + 1)),
        false => line.error(format!("the largest number is {LARGEST}")),
    }
}
