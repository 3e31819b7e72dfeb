//! Holds the prover to what the programs of `programs/affine` claim about every input.
//!
//! A claim is a relation between instances in isl's syntax, worked out by hand; here it is compared
//! with the relation that the prover found, for all parameters at once. `programs/README.md`
//! explains the directives.

use crate::facts::{AccessIndex, Facts};
use crate::kernels;
use crate::objects::Objects;
use crate::order::loops;
use crate::races::{Finding, conflict};
use crate::sets::{Isl, Result, Set};
use crate::symbols::{Kind, Naming, Symbol};
use crate::{Budget, Detail, Options, walk};
use finishline_fin::hir::Program;
use finishline_isl as isl;
use finishline_model::{AccessId, AccessKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

#[test]
fn affine_programs_are_as_they_claim() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/affine");
    let mut programs: Vec<_> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "fin"))
        .collect();
    programs.sort();
    assert!(programs.len() >= 40, "{} programs", programs.len());
    let mut wrong = Vec::new();
    for path in &programs {
        let text = fs::read_to_string(path).expect("a readable program");
        let name = path.file_name().expect("a name").to_string_lossy();
        for complaint in complaints(&text) {
            wrong.push(format!("{name}: {complaint}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What of the claims of a program is not so.
fn complaints(text: &str) -> Vec<String> {
    let Ok(program) = finishline_fin::analyse("program.fin", text.as_bytes()) else {
        return vec!["it is refused".to_string()];
    };
    let options = Options {
        budget: Budget::Time(Duration::from_secs(600)),
        detail: Detail::Races,
    };
    let answer = crate::prove(&program, &options);
    let isl = Isl::new();
    let facts = walk::walk(&isl, &program).expect("no time limit");
    let claims = Claims {
        text,
        program: &program,
        facts: &facts,
        objects: Objects::new(&isl, &program, &facts),
        wrong: Vec::new(),
    };
    claims.check(&answer).expect("no time limit")
}

struct Claims<'p> {
    text: &'p str,
    program: &'p Program,
    facts: &'p Facts,
    objects: Objects<'p>,
    wrong: Vec<String>,
}

impl<'p> Claims<'p> {
    /// The directives of one kind.
    fn directives(&self, kind: &str) -> Vec<String> {
        let prefix = format!("//@ {kind}: ");
        let lines = self.text.lines();
        lines
            .filter_map(|line| line.strip_prefix(&prefix))
            .map(str::to_string)
            .collect()
    }

    fn check(mut self, answer: &crate::Answer) -> Result<Vec<String>> {
        let verdict = answer.proof.verdict.word();
        let claimed = self.directives("prove");
        if claimed != [verdict] {
            self.wrong
                .push(format!("it is {verdict}, claimed {claimed:?}"));
        }
        let range = answer.proof.proof().map_or(&[][..], |proof| &proof.range);
        let ranges = range.iter().map(|range| {
            let end = |word, end: Option<i64>| end.map(|end| format!(" {word} {end}"));
            let ends = [end("at least", range.least), end("at most", range.greatest)];
            let ends: Vec<String> = ends.into_iter().flatten().collect();
            format!("{}{}", range.parameter, ends.join(""))
        });
        let (ranges, claimed) = (ranges.collect::<Vec<_>>(), self.directives("range"));
        if !claimed.is_empty() && claimed != ranges {
            self.wrong
                .push(format!("it holds for {ranges:?}, claimed {claimed:?}"));
        }
        for reason in self.directives("reason") {
            let given = answer
                .proof
                .kernels()
                .iter()
                .flat_map(|kernel| &kernel.reasons);
            let mut given = given.map(|it| format!("{} {}", it.place.line, it.kind.word()));
            if !given.any(|it| it == reason) {
                let given: Vec<_> = (answer.proof.kernels().iter().flat_map(|it| &it.reasons))
                    .map(|it| format!("{} {}", it.place.line, it.kind.word()))
                    .collect();
                self.wrong.push(format!("{reason} is not among {given:?}"));
            }
        }
        let found = self.findings()?;
        self.races(&found)?;
        self.benign(&found)?;
        self.sources()?;
        self.remarks()?;
        Ok(self.wrong)
    }

    fn findings(&self) -> Result<Vec<Finding<'p>>> {
        let mut found = Vec::new();
        for (id, accesses) in kernels::divide(self.facts).list {
            let mut gaps = self.facts.gaps.iter();
            if gaps.any(|gap| kernels::concerns(id, &gap.path)) {
                continue;
            }
            for (at, first) in accesses.iter().enumerate() {
                for second in &accesses[at..] {
                    let (one, other) =
                        (&self.facts.accesses[*first], &self.facts.accesses[*second]);
                    if conflict(one, other) && kernels::belongs(id, &one.path, &other.path) {
                        self.objects.races(*first, *second, &mut found)?;
                        if first != second {
                            self.objects.races(*second, *first, &mut found)?;
                        }
                    }
                }
            }
        }
        found.retain(|finding| finding.doubts.is_empty());
        Ok(found)
    }

    /// The accesses that a name like `S0`, `S0.w` or `S0.r2` may mean: one for each array.
    fn named(&self, name: &str) -> Vec<AccessId> {
        let (label, which) = name.split_once('.').unwrap_or((name, ""));
        let marked = |line: &str| {
            line.split("//")
                .skip(1)
                .any(|comment| comment.trim() == label)
        };
        let Some(line) = self.text.lines().position(marked) else {
            return Vec::new();
        };
        let mut reads: BTreeMap<String, usize> = BTreeMap::new();
        let mut named = Vec::new();
        let source = &self.program.source;
        let mut accesses: Vec<_> = (source.accesses.iter().enumerate())
            .filter(|(_, info)| source.site(info.place).line as usize == line + 1)
            .collect();
        accesses.sort_by_key(|(_, info)| source.site(info.place).column);
        for (index, info) in accesses {
            let id = AccessId::from_index(index);
            if info.kind == AccessKind::Write {
                if which.is_empty() || which == "w" {
                    named.push(id);
                }
            } else {
                let place = source.snippet(info.place);
                let array = place
                    .rsplit_once('[')
                    .map_or(place.as_str(), |(array, _)| array);
                let count = reads.entry(array.to_string()).or_default();
                *count += 1;
                if ["", "r"].contains(&which) || which == format!("r{count}") {
                    named.push(id);
                }
            }
        }
        named
    }

    /// A set as isl knows it: tuples of these symbols, the parameters by their names.
    fn tuples(&self, set: &Set, symbols: &[Symbol]) -> Result<isl::Set> {
        let mut set = self.objects.with_constants(set)?;
        let mut distinct: Vec<Symbol> = Vec::new();
        for symbol in symbols {
            let mut own = *symbol;
            if distinct.contains(symbol) {
                own = symbol.in_copy(5);
                let isl = self.objects.isl;
                set = set.intersect(&isl.symbol(own)?.equals(&isl.symbol(*symbol)?)?)?;
            }
            distinct.push(own);
        }
        let parameter = |symbol: Symbol| symbol.kind == Kind::Parameter;
        set = set.exists(|symbol| !parameter(symbol) && !distinct.contains(&symbol))?;
        let mut tuples = set.tuple(&distinct)?;
        for (at, name) in self.facts.parameters.iter().enumerate() {
            let symbol = Symbol::new(Kind::Parameter, at).to_string();
            let at = tuples
                .find_dim_by_name(isl::DimType::Param, &symbol)
                .expect("a lookup");
            if let Ok(at) = u32::try_from(at) {
                tuples = tuples
                    .set_dim_name(isl::DimType::Param, at, name)
                    .expect("a name");
            }
        }
        Ok(tuples)
    }

    fn counters(&self, access: AccessIndex) -> Vec<Symbol> {
        loops(&self.facts.accesses[access].path).collect()
    }

    /// The claimed relation, flat.
    fn relation(&self, text: &str) -> isl::Set {
        let context = self.objects.isl.context();
        match isl::Map::read_from_str(context, text) {
            Ok(map) => map.wrap().expect("a set").flatten().expect("a set"),
            Err(error) => panic!("{text}: {error}"),
        }
    }

    fn races(&mut self, found: &[Finding]) -> Result<()> {
        // By pair of accesses, the tuples of the one with the lower id first.
        let mut pairs: BTreeMap<(AccessId, AccessId), isl::Set> = BTreeMap::new();
        for finding in found {
            let ids = [finding.first, finding.second].map(|index| self.facts.accesses[index].id);
            let first = self.counters(finding.first);
            let second: Vec<Symbol> = self.counters(finding.second);
            let second = second
                .into_iter()
                .map(|it| finding.naming.name(it))
                .collect();
            let mut orders = vec![(ids[0], ids[1], [first.clone(), second])];
            let [a, b] = orders[0].2.clone();
            if ids[0] > ids[1] {
                orders = vec![(ids[1], ids[0], [b, a])];
            } else if ids[0] == ids[1] {
                orders.push((ids[0], ids[1], [b, a]));
            }
            for (one, other, counters) in orders {
                let tuples = self.tuples(&finding.set, &counters.concat())?;
                let all = match pairs.remove(&(one, other)) {
                    Some(all) => all.union(tuples).expect("sets of the same shape"),
                    None => tuples,
                };
                pairs.insert((one, other), all);
            }
        }
        for directive in self.directives("race") {
            let (names, relation) = directive.split_once(" : ").expect("names : relation");
            let (first, second) = names.split_once(' ').expect("two names");
            let mut claimed = None;
            for one in self.named(first) {
                for other in self.named(second) {
                    let key = (one.min(other), one.max(other));
                    if pairs.contains_key(&key) {
                        claimed = Some((key, one > other));
                    }
                }
            }
            let Some((key, reversed)) = claimed else {
                self.wrong.push(format!("{names} do not race"));
                continue;
            };
            let found = pairs.remove(&key).expect("it is there");
            let context = self.objects.isl.context();
            let map = isl::Map::read_from_str(context, relation).expect("a relation");
            let flat = |map: isl::Map| map.wrap().expect("a set").flatten().expect("a set");
            let mut expected = flat(map.copy().expect("a copy"));
            if key.0 == key.1 {
                let back = flat(map.reverse().expect("a map"));
                expected = expected.union(back).expect("a set");
            } else if reversed {
                expected = flat(map.reverse().expect("a map"));
            }
            if !expected.is_equal(&found).expect("comparable") {
                let found = found.coalesce().expect("a set");
                let found = found.to_str().expect("text");
                self.wrong.push(format!("{names} race for {found}"));
            }
        }
        for (one, other) in pairs.keys() {
            let [a, b] = [one, other].map(|id| {
                let info = self.program.source.access(*id);
                let site = self.program.source.site(info.place);
                format!("{} at {}:{}", info.kind.word(), site.line, site.column)
            });
            self.wrong
                .push(format!("{a} and {b} race, which is not claimed"));
        }
        Ok(())
    }

    fn benign(&mut self, found: &[Finding]) -> Result<()> {
        for directive in self.directives("benign") {
            let words: Vec<&str> = directive.split(' ').collect();
            let (first, second) = (self.named(words[0]), self.named(words[1]));
            let mut told = BTreeSet::new();
            for finding in found {
                let ids = [finding.first, finding.second].map(|it| self.facts.accesses[it].id);
                let is = |a: AccessId, b: AccessId| first.contains(&a) && second.contains(&b);
                if is(ids[0], ids[1]) || is(ids[1], ids[0]) {
                    let benign = self.objects.benign(finding)?;
                    told.insert(benign.map_or("none", finishline_answer::claim::Benign::word));
                }
            }
            if !told.iter().eq([words[2]].iter()) {
                self.wrong
                    .push(format!("benign {directive}: it is {told:?}"));
            }
        }
        Ok(())
    }

    fn sources(&mut self) -> Result<()> {
        let mut reads: BTreeSet<AccessId> = BTreeSet::new();
        let mut told: BTreeSet<(AccessId, Option<AccessId>)> = BTreeSet::new();
        let mut sources = BTreeMap::new();
        for (index, access) in self.facts.accesses.iter().enumerate() {
            if access.kind == AccessKind::Write {
                continue;
            }
            let found = self.objects.sources(index)?;
            let own = self.counters(index);
            let mut add = |write: Option<AccessId>, tuples: isl::Set| {
                let all = match sources.remove(&(access.id, write)) {
                    Some(all) => tuples.union(all).expect("sets of the same shape"),
                    None => tuples,
                };
                sources.insert((access.id, write), all);
            };
            for (write, pairs) in &found.writes {
                let mut counters = own.clone();
                counters.extend(self.counters(*write).iter().map(|it| it.in_copy(1)));
                let id = self.facts.accesses[*write].id;
                add(Some(id), self.tuples(pairs, &counters)?);
            }
            add(None, self.tuples(&found.initial, &own)?);
        }
        for directive in self.directives("source") {
            let (names, relation) = directive.split_once(" : ").expect("names : relation");
            let (read, write) = names.split_once(" <- ").expect("read <- write");
            let mut claimed = None;
            let writes: Vec<Option<AccessId>> = match write {
                "initial" => vec![None],
                name => self.named(name).into_iter().map(Some).collect(),
            };
            for read in self.named(read) {
                for write in &writes {
                    let nonempty = (sources.get(&(read, *write)))
                        .is_some_and(|set| !set.is_empty().expect("decidable"));
                    if nonempty {
                        claimed = Some((read, *write));
                    }
                }
            }
            let Some((read, write)) = claimed else {
                self.wrong.push(format!("{names}: it is no source"));
                continue;
            };
            reads.insert(read);
            told.insert((read, write));
            let expected = match write {
                Some(_) => self.relation(relation),
                None => {
                    isl::Set::read_from_str(self.objects.isl.context(), relation).expect("a set")
                }
            };
            let found = &sources[&(read, write)];
            if !expected.is_equal(found).expect("comparable") {
                let text = found.to_str().expect("text");
                self.wrong.push(format!("{names}: the sources are {text}"));
            }
        }
        for ((read, write), set) in &sources {
            let empty = set.is_empty().expect("decidable");
            if reads.contains(read) && !told.contains(&(*read, *write)) && !empty {
                let text = set.to_str().expect("text");
                self.wrong
                    .push(format!("{read:?} has the source {write:?} {text}"));
            }
        }
        Ok(())
    }

    fn remarks(&mut self) -> Result<()> {
        for name in self.directives("dead") {
            let ids = self.named(&name);
            for (index, access) in self.facts.accesses.iter().enumerate() {
                if access.kind == AccessKind::Write && ids.contains(&access.id) {
                    let all = self.objects.instances(index)?;
                    let (_, dead) = self.objects.questionable(index)?;
                    if !dead.is_some_and(|dead| all.is_subset(&dead).unwrap_or(false)) {
                        self.wrong.push(format!("{name} is not dead"));
                    }
                }
            }
        }
        for directive in self.directives("never-written") {
            let (name, relation) = directive.split_once(" : ").expect("name : set");
            let ids = self.named(name);
            let context = self.objects.isl.context();
            let expected = isl::Set::read_from_str(context, relation).expect("a set");
            let mut matched = false;
            for (index, access) in self.facts.accesses.iter().enumerate() {
                if access.kind == AccessKind::Read
                    && ids.contains(&access.id)
                    && let (_, Some(set)) = self.objects.questionable(index)?
                {
                    let found = self.tuples(&set, &self.counters(index))?;
                    matched |= expected.is_equal(&found).expect("comparable");
                }
            }
            if !matched {
                self.wrong
                    .push(format!("{name} is not never written as claimed"));
            }
        }
        Ok(())
    }
}
