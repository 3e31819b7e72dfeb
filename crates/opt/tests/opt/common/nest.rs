//! Random loop nests with indices near the bounds: one off at either end, negative steps, empty
//! ranges, arrays of length 0, null arrays and objects, bounds near the ends of the ints, products
//! that overflow, failures in the middle of a loop.

use super::statements::{Node, line, smaller, write_nodes};
use finishline_generate::rng::Rng;

/// The program: how `work` is called, and its body.
#[derive(Clone)]
pub(crate) struct Nest {
    set_up: Vec<Node>,
    work: Vec<Node>,
}

impl Nest {
    pub(crate) fn render(&self) -> String {
        let mut text = String::from(
            "struct Box { v: int, f: float, a: int[], m: float[,], next: Box }
var g: int = 3;
var ga: int[];
fn twice(x: int): int { return x + x; }
fn at(a: int[], i: int): int { return a[i] + g; }
fn bump(b: Box, by: int): int { if by == 5 { return 0; } b.v += twice(by); g = b.v; return b.v; }
fn put(m: float[,], i: int, j: int) { m[i, j] = m[j, i] + 1.0; }
// These have loops, so that calls of them stay.
fn look(b: Box, x: int): int { var sum = 0; for r in 0..2 { sum += b.v + g * r + x; } return sum; }
fn refill(b: Box, x: int) { for r in 0..2 { b.v = x + r; } }
fn aim(b: Box, a: int[]) { for r in 0..2 { b.a = a; } }
fn turn(b: Box) { for r in 0..2 { b.next = b; } }
fn lose() { for r in 0..1 { ga = null; } }
fn write(a: int[], x: int) { for r in 0..len(a) { a[r] = a[r] + x; } }
fn deep(b: Box, a: int[], x: int) { if x > 1 { deep(b, a, x / 2); } else { aim(b, a); } }
fn other(b: Box, x: int) { if x > 2 { deep(b, ga, x); } else { refill(b, x); } }
fn later(b: Box, x: int) { for r in 0..1 { finish async b.v = x; } }
fn work(a: int[], b: float[,], c: int[,,], z: byte[], box: Box, n: int, k: int) {
    var s = 0;
    var t = 0.0;
",
        );
        write_nodes(&mut text, &self.work, 1);
        text.push_str("    print(s, t, g);\n}\nfn main() {\n");
        write_nodes(&mut text, &self.set_up, 1);
        text.push_str(
            "    if a != null { for i in 0..len(a) { print(a[i]); } }
    if b != null { for i in 0..len(b) { for j in 0..len(b, 1) { print(b[i, j]); } } }
}
",
        );
        text
    }

    /// Every nest with one statement less, or with a statement replaced by what is inside it.
    pub(crate) fn smaller(&self) -> Vec<Nest> {
        let set_ups = smaller(&self.set_up).into_iter().map(|set_up| Nest {
            set_up,
            ..self.clone()
        });
        let works = smaller(&self.work).into_iter().map(|work| Nest {
            work,
            ..self.clone()
        });
        works.chain(set_ups).collect()
    }
}

pub(crate) struct Maker {
    rng: Rng,
    /// Counters in scope.
    counters: Vec<String>,
    names: u32,
    /// Seldom leaves the bounds.
    tame: bool,
    /// Creates tasks and waits for them within its loops.
    parallel: bool,
}

impl Maker {
    /// A nest of loops in one task.
    pub(crate) fn nest(seed: u64) -> Nest {
        Maker::make(seed, !seed.is_multiple_of(3), false)
    }

    /// A nest of loops that tasks run in parallel and in which tasks are created. Seldom leaves the
    /// bounds.
    pub(crate) fn parallel_nest(seed: u64) -> Nest {
        Maker::make(seed, !seed.is_multiple_of(16), true)
    }

    fn make(seed: u64, tame: bool, parallel: bool) -> Nest {
        let mut maker = Maker {
            rng: Rng::new(seed),
            counters: Vec::new(),
            names: 0,
            tame,
            parallel,
        };
        let work = maker.block(0);
        Nest {
            set_up: maker.set_up(),
            work,
        }
    }

    fn set_up(&mut self) -> Vec<Node> {
        let (rng, tame) = (&mut self.rng, self.tame);
        let n = rng.pick(&[0, 1, 2, 3, 4, 6, 9]);
        let lowest = if tame { 0 } else { -n };
        let mut near = || n + rng.pick(&[0, 0, 0, 0, 1, 1, 2, -1]).max(lowest);
        let sizes: Vec<i64> = (0..9).map(|_| near()).collect();
        let objects = [
            ("a: int[]", format!("new int[{}]", sizes[0])),
            (
                "b: float[,]",
                format!("new float[{}, {}]", sizes[1], sizes[2]),
            ),
            (
                "c: int[,,]",
                format!("new int[{}, {}, {}]", sizes[3], sizes[4], sizes[5]),
            ),
            ("z: byte[]", format!("new byte[{}]", sizes[6])),
            ("box: Box", "new Box()".to_owned()),
        ];
        let rng = &mut self.rng;
        let mut nodes = Vec::new();
        for (name, made) in objects {
            let value = if rng.percent(if tame { 1 } else { 4 }) {
                "null"
            } else {
                &made
            };
            nodes.push(format!("let {name} = {value};"));
        }
        if tame || rng.percent(85) {
            nodes.push("ga = a;".into());
        }
        let mut nodes: Vec<Node> = nodes.into_iter().map(line).collect();
        nodes.push(line(
            "if a != null { for i in 0..len(a) { a[i] = (i * 7) % (len(a) + 1) - 0; } }".into(),
        ));
        let mut filled = Vec::new();
        for (chance, text) in [
            (85, format!("box.a = new int[{}];", sizes[7])),
            (
                85,
                format!("box.m = new float[{}, {}];", sizes[8], sizes[0]),
            ),
            (20, "box.a = a;".into()),
            (20, "box.m = b;".into()),
            (50, "box.next = box;".into()),
            (30, "box.next = new Box();".into()),
        ] {
            if self.rng.percent(chance) || (self.tame && chance > 50) {
                filled.push(line(text));
            }
        }
        nodes.push(Node {
            head: "if box != null".into(),
            inside: Some(filled),
        });
        let k = if self.tame {
            "1"
        } else {
            self.rng
                .pick(&["1", "2", "-1", "0", "3", "4611686018427387904"])
        };
        let call = format!("work(a, b, c, z, box, {n}, {k});");
        nodes.push(match self.rng.below(4) {
            _ if self.parallel => Node {
                head: "finish".into(),
                inside: Some(vec![
                    line(format!("async {call}")),
                    line(
                        self.rng
                            .pick(&["g += 1;", "ga[0] = 1;", "box.v = 2;", ""])
                            .into(),
                    ),
                    line(format!("async {}", call.replace("work(a, b", "work(ga, b"))),
                    line(
                        self.rng
                            .pick(&["", "work(ga, null, null, null, box, 2, 1);"])
                            .into(),
                    ),
                ]),
            },
            0 => line(format!("finish async {call}")),
            1 => Node {
                head: "finish for q in 0..2".into(),
                inside: Some(vec![line(format!("async {call}"))]),
            },
            2 => line(format!("{call} {call}")),
            _ => line(call),
        });
        nodes
    }

    fn block(&mut self, depth: u32) -> Vec<Node> {
        let count = if depth == 0 { 3 } else { 1 + self.rng.below(4) };
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Node {
        let loops = if depth == 0 { 90 } else { 30 };
        if depth < 3 && self.rng.percent(loops) {
            return match self.rng.percent(25) {
                true => self.sweep(),
                false => self.a_loop(depth),
            };
        }
        if self.parallel && self.rng.percent(8) {
            return self.task_statement();
        }
        let index = self.index();
        let (i, j, k) = (self.index(), self.index(), self.index());
        let text = match self.rng.below(33) {
            0 | 1 => format!("s += a[{index}];"),
            2 => format!("a[{index}] = s + {i};"),
            3 => format!("a[{index}] += 1;"),
            4 | 5 => format!("t += b[{i}, {j}];"),
            6 => format!("b[{i}, {j}] = t + 1.5;"),
            7 => format!("b[{i}, {j}] += b[{j}, {i}] * 0.5;"),
            8 => format!("s += c[{i}, {j}, {k}];"),
            9 => format!("c[{i}, {j}, {k}] = s;"),
            10 => format!("z[{index}] = byte(s);"),
            11 => format!("s += box.v + box.a[{index}];"),
            12 => format!("box.m[{i}, {j}] += t;"),
            13 => format!("box.v += {index};"),
            14 => format!("g = g + ga[{index}];"),
            15 => format!("s += at(a, {index}) + twice(s);"),
            16 => format!("s += bump(box, {index});"),
            17 => format!("put(b, {i}, {j});"),
            18 if depth > 0 => {
                return Node {
                    head: format!("if {index} % 3 == 1"),
                    inside: Some(self.block(3)),
                };
            }
            19 if depth > 0 && self.rng.percent(40) => {
                return Node {
                    head: format!("if s % 5 == {}", self.rng.below(5)),
                    inside: Some(vec![line(
                        self.rng.pick(&["break;", "continue;", "return;"]).into(),
                    )]),
                };
            }
            20 => format!("s += len(a) + len(b, 1) * {index};"),
            22 => format!("box.next.v += {index}; s += box.v;"),
            23 => "s += box.next.v;".into(),
            24 => "if box == null { s += box.v; }".into(),
            25 => "if box.next != null { s += box.next.v; }".into(),
            26..30 => self.along(),
            30..33 => self.call(),
            21 => format!("box.a = {};", self.rng.pick(&["a", "ga", "box.a", "null"])),
            _ => format!("s = s * 3 + ({i} - {j}) * 5 + ({j} - {i});"),
        };
        line(text)
    }

    /// A call of a function that may change something.
    fn call(&mut self) -> String {
        let index = self.index();
        let text = self.rng.pick(&[
            "s += look(box, X);",
            "s += look(box, X) + box.v;",
            "refill(box, X); s += box.v;",
            "aim(box, ga); s += box.a[X];",
            "s += box.a[X]; aim(box, a);",
            "turn(box); s += box.next.v;",
            "s += ga[X]; if s % 7 == 3 { lose(); }",
            "write(a, 1); s += a[X];",
            "s += box.a[X] + box.v; deep(box, a, X);",
            "s += box.a[X] + box.v; other(box, X);",
            "s += box.v; later(box, X);",
        ]);
        text.replace('X', &index)
    }

    /// A loop over elements at a distance from each other, which may be longer than the loop.
    fn along(&mut self) -> String {
        let distance = self.rng.pick(&[1, 2, 3, 5]);
        let first = self.rng.pick(&["0", "1", "n / 2"]);
        let last = self.rng.pick(&["len(a)", "n"]);
        let (range, sign) = match self.rng.below(3) {
            0 => (format!("{first}..{last} - {distance}"), '+'),
            1 => (format!("{first}..{last} - {distance} step 2"), '+'),
            _ => (format!("{last} - 1..{first} + {distance} step -1"), '-'),
        };
        let other = format!("a[w {sign} {distance}]");
        let body = match self.rng.below(4) {
            0 => format!("s += a[w] + {other};"),
            1 => format!("s += {other} + a[w] + a[w {sign} 1];"),
            2 => format!("a[w] = s; {other} = 1;"),
            _ => format!("{other} += a[w];"),
        };
        format!("for w in {range} {{ {body} }}")
    }

    /// A loop that goes on with two indices in some iterations, and not in others.
    fn sweep(&mut self) -> Node {
        let number = self.names;
        self.names += 1;
        let indices = ["x", "y"].map(|name| format!("{name}{number}"));
        let mut inside = Vec::new();
        let mut guard = String::new();
        let mut steps = Vec::new();
        for index in &indices {
            let (start, step) = match self.rng.below(4) {
                0..3 => (self.rng.pick(&["0", "0", "1", "n / 2"]), "+= 1"),
                _ => (self.rng.pick(&["len(a) - 1", "n - 1"]), "-= 1"),
            };
            let step = match self.rng.percent(90) {
                true => step,
                false => self.rng.pick(&["+= 1", "-= 1", "+= 2", "+= k"]),
            };
            steps.push(format!("{index} {step};"));
            inside.push(line(format!("var {index} = {start};")));
            guard += &format!(" && {index} >= 0 && {index} < len(a)");
        }
        let mut body = vec![line(format!("w{number} += 1;"))];
        for _ in 0..1 + self.rng.below(4) {
            let one = self.rng.index(2);
            let (x, y) = (&indices[one], &indices[1 - one]);
            let (go, other) = (&steps[one], &steps[1 - one]);
            let condition = match self.rng.below(4) {
                0 => format!("w{number} % 2 == 1"),
                1 => format!("(w{number} + s) % 3 == 0"),
                2 => format!("{x} % 3 != 1"),
                _ => "s % 2 == 0".to_owned(),
            };
            let text = match self.rng.below(18) {
                0 => format!("s += a[{x}];"),
                1 => format!("a[{x}] = s;"),
                2 | 3 => format!("if {condition} {{ {go} }}"),
                4 | 5 => format!("if {condition} {{ a[{x}] = s; {go} }}"),
                6 => format!("if {condition} {{ a[{x}] = s; }} else {{ a[{x}] = 2; {go} }}"),
                7 => {
                    format!("if {condition} {{ s += a[{x}]; {go} }} else {{ a[{y}] = 1; {other} }}")
                }
                8 => format!("a[{x}] += 1; {go}"),
                9 => format!("if {condition} {{ a[{x}] = 3; if s % 3 == 0 {{ {go} }} }}"),
                10 => format!("if {condition} {{ break; }}"),
                11 => format!("if {condition} {{ continue; }}"),
                12 => format!("{{ let z = {x}; if {condition} {{ {go} }} s += a[z]; }}"),
                13 => format!("if {condition} {{ s += a[{x}]; }} else {{ s -= a[{x}]; }} {go}"),
                14 => format!("s += w{number}; {go}"),
                15 => format!(
                    "{{ let z = {x}; if {condition} {{ a[z] = s; {go} }} \
                     if w{number} % 3 == 0 {{ a[z] = 2; }} }}"
                ),
                16 => format!(
                    "{{ let z = {x}; if {condition} {{ {go} }} \
                     if {condition} {{ a[z] = 2; }} }}"
                ),
                _ => format!("s += a[{x}] + a[{y}];"),
            };
            body.push(line(text));
        }
        inside.insert(0, line(format!("var w{number} = 0;")));
        inside.push(Node {
            head: format!("while w{number} < n{guard}"),
            inside: Some(body),
        });
        Node {
            head: String::new(),
            inside: Some(inside),
        }
    }

    /// Something that ends a step.
    fn task_statement(&mut self) -> Node {
        let (i, j) = (self.index(), self.index());
        let text = self.rng.pick(&[
            "async a[p] = 1;",
            "async b[p, q] += 1.0;",
            "finish async a[p] += 1;",
            "finish { async box.v += 1; a[p] = 2; }",
            "isolated a[p] += 1;",
            "isolated { box.v += 1; g = box.v; }",
            "finish { a[p] += 1; async g = q; }",
            "async box.v = g;",
        ]);
        // A task takes no variable along that can change.
        let fixed = line(format!("let p = {i}; let q = {j};"));
        Node {
            head: String::new(),
            inside: Some(vec![fixed, line(text.into())]),
        }
    }

    fn a_loop(&mut self, depth: u32) -> Node {
        let name = format!("i{}", self.names);
        self.names += 1;
        let bound = self.bound();
        let wild = !self.tame || self.rng.percent(10);
        if self.rng.percent(20) {
            return self.while_loop(name, depth);
        }
        let start = match self.rng.below(10) {
            _ if !wild => "0".to_owned(),
            0..6 => "0".to_owned(),
            6 => "1".to_owned(),
            7 => "-1".to_owned(),
            8 => self.index(),
            _ => self.bound(),
        };
        let range = match self.rng.below(12) {
            9..12 if !wild => format!("{start}..{bound}"),
            6 | 8 if !wild => format!("{start}..{bound} step 3"),
            0..6 => format!("{start}..{bound}"),
            6 => format!("{start}..={bound}"),
            7 => format!("{bound} - 1..={start} step -1"),
            8 => format!("{start}..{bound} step 2"),
            9 => format!("{start}..{bound} step k"),
            10 => format!("{bound}..{start} step -2"),
            _ => self
                .rng
                .pick(&[
                    "9223372036854775805..9223372036854775807",
                    "9223372036854775805..=9223372036854775807",
                    "-9223372036854775807..-9223372036854775806",
                    "0..9223372036854775807",
                    "-1..9223372036854775807 step 4611686018427387904",
                ])
                .to_owned(),
        };
        self.counters.push(name.clone());
        let inside = self.block(depth + 1);
        self.counters.pop();
        Node {
            head: format!("for {name} in {range}"),
            inside: Some(inside),
        }
    }

    /// Counts up or down to a bound.
    fn while_loop(&mut self, name: String, depth: u32) -> Node {
        let bound = self.bound();
        let choices = if self.tame { 5 } else { 6 };
        let (start, compare, step) = match self.rng.below(choices) {
            1 | 4 if self.tame => ("0", "<", "+ 1"),
            0 => ("0", "<", "+ 1"),
            1 => ("0", "<=", "+ 1"),
            2 => ("0", "<", "+ 2"),
            3 => ("n - 1", ">=", "- 1"),
            4 => ("n", ">", "- 1"),
            _ => ("0", "!=", "+ 1"),
        };
        let bound = if compare.starts_with('>') {
            "0".to_owned()
        } else {
            bound
        };
        self.counters.push(name.clone());
        let mut inside = self.block(depth + 1);
        self.counters.pop();
        // A `continue` must not skip the step.
        inside.retain(|node| !node.head.starts_with("if s %"));
        inside.push(line(format!("{name} = {name} {step};")));
        let body = Node {
            head: format!("while {name} {compare} {bound}"),
            inside: Some(inside),
        };
        Node {
            head: String::new(),
            inside: Some(vec![line(format!("var {name} = {start};")), body]),
        }
    }

    fn bound(&mut self) -> String {
        if self.tame && self.rng.percent(90) {
            return "n".into();
        }
        match self.rng.below(12) {
            0..5 => "n".into(),
            5 => "n + 1".into(),
            6 => "n - 1".into(),
            7 => "len(a)".into(),
            8 => "len(b, 1)".into(),
            9 => "len(box.a)".into(),
            10 => "2".into(),
            _ => "box.v".into(),
        }
    }

    fn index(&mut self) -> String {
        let invariant = self
            .rng
            .pick(&["0", "n - 1", "1", "n / 2", "len(a) - 1", "k"]);
        if self.counters.is_empty() {
            return invariant.to_owned();
        }
        let i = self.counters[self.rng.index(self.counters.len())].clone();
        let j = self.counters[self.rng.index(self.counters.len())].clone();
        if self.tame && self.rng.percent(85) {
            return match self.rng.below(6) {
                0 => format!("n - 1 - {i}"),
                1 => format!("{i} + {j} - {j}"),
                2 => format!("{i} * k"),
                _ => i,
            };
        }
        match self.rng.below(26) {
            0..12 => i,
            12 => format!("{i} + 1"),
            13 => format!("{i} - 1"),
            14 => format!("n - 1 - {i}"),
            15 => format!("2 * {i}"),
            16 => format!("{i} * k"),
            17 => format!("{i} + {j} - {j}"),
            18 => format!("({i} << 2) - {i} * 3"),
            19 => format!("-(-{i})"),
            20 => format!("{i} * 4611686018427387904 * 4 + {j}"),
            21 => format!("{i} * {j} - {j} * {i} + {i}"),
            22 => format!("({i} + {j}) / 2"),
            23 => format!("ga[{i}]"),
            24 => format!("{i} - n * (k - 1)"),
            _ => invariant.to_owned(),
        }
    }
}
