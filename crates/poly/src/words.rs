//! Findings in the user's words: the location, the inputs, the instances and the smallest case.

use crate::facts::{AccessIndex, CounterFacts, Gap};
use crate::objects::{Objects, Slot};
use crate::order::loops;
use crate::races::Finding;
use crate::range::Range;
use crate::sets::{Result, Set};
use crate::symbols::{Kind, Naming, Symbol};
use finishline_answer::claim::{Claim, Confirmation, Witness};
use finishline_answer::finding::{Finding as Told, FoundAccess, Rule, Seen};
use finishline_answer::proof::{ParameterRange, ReadSources, Reason, Remark, RemarkKind, Source};
use finishline_answer::task::Stack;
use finishline_answer::{Location, Place};
use finishline_fin::hir::{LocalId, Program, Type};
use finishline_model::SiteId;

/// How large parameters are in the larger cases of a race.
const LARGER: [i64; 6] = [1, 2, 3, 4, 8, 16];

/// The names of a program, to speak of its findings.
pub(crate) struct Words<'f> {
    pub(crate) program: &'f Program,
    pub(crate) objects: &'f Objects<'f>,
}

/// A value in words.
struct Formula {
    text: String,
    /// The symbols that it speaks of.
    symbols: Vec<Symbol>,
}

impl Words<'_> {
    pub(crate) fn place(&self, site: SiteId) -> Place {
        place(self.program, site)
    }

    /// Why something that was not taken apart leaves its kernel open.
    pub(crate) fn reason(&self, gap: &Gap) -> Reason {
        Reason {
            kind: gap.reason,
            place: self.place(gap.site),
            concerns: String::new(),
        }
    }

    /// The same of several. A function that was unfolded often has a reason once.
    pub(crate) fn reasons(&self, gaps: &[&Gap]) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for gap in gaps {
            let reason = self.reason(gap);
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }

    /// The inputs that an answer is about.
    pub(crate) fn ranges(&self, ranges: &[Range]) -> Vec<ParameterRange> {
        let named = ranges.iter().map(|range| ParameterRange {
            parameter: self.objects.facts.parameters[range.parameter].clone(),
            least: range.least,
            greatest: range.greatest,
        });
        named.collect()
    }

    /// What a symbol is called.
    fn name(&self, symbol: Symbol) -> String {
        let facts = self.objects.facts;
        let index = symbol.index as usize;
        match symbol.kind {
            Kind::Parameter => facts.parameters[index].clone(),
            Kind::Counter => {
                let CounterFacts { name, .. } = &facts.counters[index];
                if symbol.copy == 0 {
                    name.clone()
                } else {
                    format!("{name}'")
                }
            }
            Kind::Value | Kind::Location | Kind::Object => symbol.to_string(),
        }
    }

    pub(crate) fn condition(&self, set: &Set) -> Result<String> {
        let text = set.text(|symbol| self.name(symbol))?;
        Ok(text.replace(">=", "≥").replace("<=", "≤"))
    }

    /// For which parameters a set has points, and then for which values of the counters that are
    /// told: `n ≥ 17, and every k with 0 ≤ k ≤ n - 17`. Counters that are not told would be a
    /// riddle.
    fn inputs_and_counters(&self, set: &Set, told: &[Symbol]) -> Result<String> {
        let set = set.exists(|symbol| !told.contains(&symbol))?;
        let inputs = set.exists(|symbol| symbol.kind != Kind::Parameter)?;
        let instances = set.gist(&inputs)?;
        let mut counters: Vec<String> = Vec::new();
        for symbol in told.iter().filter(|symbol| symbol.kind == Kind::Counter) {
            let name = self.name(*symbol);
            if instances.involves(*symbol)? && !counters.contains(&name) {
                counters.push(name);
            }
        }
        let inputs = self.condition(&inputs)?;
        if counters.is_empty() {
            return Ok(inputs);
        }
        let every = format!(
            "every {} with {}",
            counters.join(", "),
            self.condition(&instances)?
        );
        Ok(match inputs.as_str() {
            "" => every,
            inputs => format!("{inputs}, and {every}"),
        })
    }

    /// A symbol in terms of others, if they determine it by one formula.
    fn determined(&self, set: &Set, symbol: Symbol, by: &[Symbol]) -> Result<Option<Formula>> {
        let set = set.exists(|other| other != symbol && !by.contains(&other))?;
        let isl = self.objects.isl;
        let twice = set.rename(|it: Symbol| if it == symbol { it.in_copy(7) } else { it })?;
        let differ = isl
            .symbol(symbol)?
            .differs(&isl.symbol(symbol.in_copy(7))?)?;
        if !set.intersect(&twice)?.intersect(&differ)?.is_empty()? {
            return Ok(None);
        }
        let value = set.least(symbol)?;
        let value = value.gist(&set.exists(|other| other == symbol)?)?;
        let Some(text) = value.text(|symbol| self.name(symbol))? else {
            return Ok(None);
        };
        let mut symbols = Vec::new();
        for symbol in by {
            if value.involves(*symbol)? {
                symbols.push(*symbol);
            }
        }
        Ok(Some(Formula { text, symbols }))
    }

    /// A race of a kernel, and what is claimed about it.
    pub(crate) fn race(
        &self,
        finding: &Finding,
        kernel: usize,
        command: &str,
    ) -> Result<(Told, Claim)> {
        let second = &self.objects.facts.accesses[finding.second];
        let parameters = self.parameters();
        let [counters, others] = self.counters(finding);
        let mut known = parameters.clone();
        let mut instance = Vec::new();
        for counter in &counters {
            let name = self.name(*counter);
            let value = self.determined(&finding.set, *counter, &parameters)?;
            if value.is_none() {
                known.push(*counter);
            }
            instance.push((name.clone(), value.map_or(name, |it| it.text)));
        }
        let mut told = parameters.clone();
        let mut other_instance = Vec::new();
        for (counter, name) in others.iter().zip(loops(&second.path)) {
            if let Some(value) = self.determined(&finding.set, *counter, &known)? {
                told.extend(value.symbols);
                other_instance.push((self.name(name), value.text));
            }
        }
        let mut indices = Some(Vec::new());
        for coordinate in self.coordinates(&finding.slot) {
            let index = self.determined(&finding.set, coordinate, &known)?;
            indices = indices.zip(index).map(|(mut indices, index)| {
                told.extend(index.symbols);
                indices.push(index.text);
                indices
            });
        }
        let location = match indices {
            Some(indices) => self.location(&finding.slot, &indices),
            None => {
                // It is told in the words of the first access.
                told.extend(&counters);
                Location::Unnamed(self.program.source.snippet(self.site_of(finding.first)))
            }
        };
        let claim = Claim {
            kernel,
            condition: self.inputs_and_counters(&finding.set, &told)?,
            witness: self.witness(finding, &finding.set, command)?,
            larger: Vec::new(),
            benign: self.objects.benign(finding)?,
        };
        let race = Told {
            rule: Rule::Race,
            location,
            first: self.access(finding.first, instance),
            second: self.access(finding.second, other_instance),
            why: None,
            allocated: None,
            seen: Seen::default(),
            ordered_by: None,
            claim: None,
            may_follow: false,
            schedule: None,
            replay: String::new(),
        };
        Ok((race, claim))
    }

    /// Something questionable about the instances of an access.
    pub(crate) fn remark(&self, kind: RemarkKind, index: AccessIndex, set: &Set) -> Result<Remark> {
        let set = self.objects.with_constants(set)?;
        let all = self
            .objects
            .with_constants(&self.objects.instances(index)?)?;
        let site = self
            .program
            .source
            .access(self.objects.facts.accesses[index].id)
            .site;
        Ok(Remark {
            kind,
            place: self.place(site),
            location: self.program.source.snippet(self.site_of(index)),
            condition: self.condition(&set.gist(&all)?)?,
        })
    }

    /// The producers of a read, if they are known.
    pub(crate) fn sources(&self, read: AccessIndex) -> Result<Option<ReadSources>> {
        if !self.objects.knows_sources(read)? {
            return Ok(None);
        }
        let facts = self.objects.facts;
        let sources = self.objects.sources(read)?;
        let mut known: Vec<Symbol> = (0..facts.parameters.len())
            .map(|at| Symbol::new(Kind::Parameter, at))
            .collect();
        known.extend(loops(&facts.accesses[read].path));
        let all = self
            .objects
            .with_constants(&self.objects.instances(read)?)?;
        let mut list = Vec::new();
        for (write, pairs) in &sources.writes {
            let pairs = self.objects.for_some_value(pairs)?;
            let pairs = self.objects.with_constants(&pairs)?;
            let mut instance = Vec::new();
            for counter in loops(&facts.accesses[*write].path) {
                let value = self.determined(&pairs, counter.in_copy(1), &known)?;
                if let Some(value) = value {
                    instance.push((self.name(counter), value.text));
                }
            }
            let id = facts.accesses[*write].id;
            let condition = pairs.exists(|symbol| !known.contains(&symbol))?;
            list.push(Source {
                write: Some(self.place(self.program.source.access(id).site)),
                instance,
                condition: self.condition(&condition.gist(&all)?)?,
            });
        }
        let initial = self.objects.for_some_value(&sources.initial)?;
        let initial = self.objects.with_constants(&initial)?;
        if !initial.is_empty()? {
            list.push(Source {
                write: None,
                instance: Vec::new(),
                condition: self.condition(&initial.gist(&all)?)?,
            });
        }
        Ok(Some(ReadSources {
            place: self.place(self.program.source.access(facts.accesses[read].id).site),
            location: self.program.source.snippet(self.site_of(read)),
            sources: list,
        }))
    }

    fn site_of(&self, access: AccessIndex) -> SiteId {
        let id = self.objects.facts.accesses[access].id;
        self.program.source.access(id).place
    }

    fn access(&self, index: AccessIndex, instance: Vec<(String, String)>) -> FoundAccess {
        let access = &self.objects.facts.accesses[index];
        let info = self.program.source.access(access.id);
        FoundAccess {
            id: Some(access.id),
            kind: access.kind.into(),
            isolated: access.isolated,
            stack: Stack::of(&info.function, self.place(info.site)),
            task: None,
            instance,
            machine: None,
        }
    }

    /// The coordinates that tell the locations of a slot apart.
    fn coordinates(&self, slot: &Slot) -> Vec<Symbol> {
        let facts = self.objects.facts;
        let count = match slot {
            Slot::Global(_) | Slot::Foreign(..) => 0,
            Slot::Field(allocation, _) | Slot::Promise(allocation) => {
                facts.allocations[*allocation].loops.len()
            }
            Slot::Elements(allocation) => {
                let allocation = &facts.allocations[*allocation];
                allocation.loops.len() + allocation.sizes.len()
            }
        };
        (0..count).map(Symbol::location).collect()
    }

    /// A location as the user would write it. Of several objects of one `new` the coordinates are
    /// in parentheses.
    fn location(&self, slot: &Slot, coordinates: &[String]) -> Location {
        let facts = self.objects.facts;
        let object = |allocation: usize, loops: &[String]| {
            let id = facts.allocations[allocation].id;
            let name = self.program.source.allocation(id).name.clone();
            if loops.is_empty() {
                name
            } else {
                format!("{name}({})", loops.join(", "))
            }
        };
        match slot {
            Slot::Global(global) => {
                Location::Global(self.program.globals[global.index()].name.clone())
            }
            Slot::Field(allocation, field) => {
                let object = object(*allocation, coordinates);
                let Type::Struct(layout) = facts.allocations[*allocation].ty else {
                    return Location::Unnamed(object);
                };
                let field = &self.program.structs[layout.index()].fields[*field as usize].0;
                Location::Field {
                    object,
                    field: field.clone(),
                }
            }
            Slot::Elements(allocation) => {
                let loops = facts.allocations[*allocation].loops.len();
                let (loops, indices) = coordinates.split_at(loops.min(coordinates.len()));
                Location::Element {
                    object: object(*allocation, loops),
                    indices: indices.to_vec(),
                }
            }
            Slot::Promise(allocation) => Location::Promise(object(*allocation, coordinates)),
            Slot::Foreign(..) => Location::Unnamed("an object made elsewhere".to_owned()),
        }
    }

    fn parameters(&self) -> Vec<Symbol> {
        let all = 0..self.objects.facts.parameters.len();
        all.map(|at| Symbol::new(Kind::Parameter, at)).collect()
    }

    /// What counts the loops around both accesses, as the set of the finding calls it.
    fn counters(&self, finding: &Finding) -> [Vec<Symbol>; 2] {
        let accesses = &self.objects.facts.accesses;
        let second = loops(&accesses[finding.second].path);
        [
            loops(&accesses[finding.first].path).collect(),
            second.map(|it| finding.naming.name(it)).collect(),
        ]
    }

    /// Cases of growing size: the smallest ones with all integers among the parameters so large.
    pub(crate) fn larger(&self, finding: &Finding, command: &str) -> Result<Vec<Witness>> {
        let isl = self.objects.isl;
        let main = &self.program.functions[self.program.main.index()];
        let is_int = |at: &usize| main.locals[main.parameters[*at].index()].ty == Type::Int;
        let integers: Vec<usize> = (0..main.parameters.len()).filter(is_int).collect();
        let mut cases: Vec<Witness> = Vec::new();
        for least in LARGER {
            let is_large = |at: &usize| (cases.last()).is_some_and(|it| it.arguments[*at] >= least);
            if integers.iter().all(is_large) {
                continue;
            }
            let mut set = finding.set.clone();
            for at in &integers {
                let parameter = isl.symbol(Symbol::new(Kind::Parameter, *at))?;
                set = set.intersect(&isl.constant(least)?.at_most(&parameter)?)?;
            }
            let Some(case) = self.witness(finding, &set, command)? else {
                break;
            };
            cases.push(Witness {
                smallest: false,
                ..case
            });
        }
        Ok(cases)
    }

    /// The case with the smallest parameters in a part of a finding.
    fn witness(&self, finding: &Finding, part: &Set, command: &str) -> Result<Option<Witness>> {
        if !finding.doubts.is_empty() {
            return Ok(None);
        }
        let isl = self.objects.isl;
        let facts = self.objects.facts;
        let parameters = self.parameters();
        let [counters, others] = self.counters(finding);
        // The largest magnitude comes first.
        let magnitude = Symbol::object(u16::MAX as usize);
        let size = isl.symbol(magnitude)?;
        let mut set = part.intersect(&isl.constant(0)?.at_most(&size)?)?;
        if let Some(excluded) = self.objects.excluded.borrow().set() {
            set = set.subtract(excluded)?;
        }
        let main = &self.program.functions[self.program.main.index()];
        for (parameter, local) in parameters.iter().zip(&main.parameters) {
            // No condition depends on the others, so they are 0.
            if !matches!(main.locals[local.index()].ty, Type::Int | Type::Bool) {
                set = set.intersect(&isl.fixed(*parameter, 0)?)?;
            }
            let value = isl.symbol(*parameter)?;
            set = set.intersect(&value.at_most(&size)?)?;
            set = set.intersect(&value.neg()?.at_most(&size)?)?;
        }
        let coordinates = self.coordinates(&finding.slot);
        let mut symbols = vec![magnitude];
        for symbol in parameters
            .iter()
            .chain(&counters)
            .chain(&others)
            .chain(&coordinates)
        {
            if !symbols.contains(symbol) {
                symbols.push(*symbol);
            }
        }
        let Some(point) = set.least_point(&symbols)? else {
            return Ok(None);
        };
        let value = |symbol: Symbol| {
            let at = symbols.iter().position(|other| *other == symbol);
            at.map_or(0, |at| point[at])
        };
        let indices: Vec<String> = coordinates
            .iter()
            .map(|coordinate| value(*coordinate).to_string())
            .collect();
        let location = self.location(&finding.slot, &indices);
        let arguments: Vec<i64> = parameters.iter().map(|it| value(*it)).collect();
        let name = |symbol: Symbol| facts.counters[symbol.index as usize].name.clone();
        let instance = |names: Vec<Symbol>| {
            let named = names.into_iter();
            named.map(|symbol| (name(symbol), value(symbol))).collect()
        };
        let written = |(value, local): (&i64, &LocalId)| match main.locals[local.index()].ty {
            Type::Bool => (*value != 0).to_string(),
            _ => value.to_string(),
        };
        let values: Vec<String> = arguments
            .iter()
            .zip(&main.parameters)
            .map(written)
            .collect();
        let values = values.join(" ");
        let replay = format!("{command} {values} --watch '{location}'").replace("  ", " ");
        Ok(Some(Witness {
            smallest: true,
            arguments,
            location,
            first: instance(counters),
            second: instance(others),
            replay,
            confirmation: Confirmation::NotRun,
        }))
    }
}

/// A place of the source.
pub(crate) fn place(program: &Program, site: SiteId) -> Place {
    let source = &program.source;
    let at = source.site(site);
    Place {
        file: source.path.clone(),
        line: at.line,
        column: at.column,
        width: source.width(site),
        text: source.snippet(site),
    }
}
