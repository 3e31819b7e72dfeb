//! Which operations can run beside which: by parallel regions.
//!
//! **What a region is.** A finish that the main task opens when no other task is live, or the
//! implicit one around `main`. An operation belongs to the innermost of the open ones; so does
//! everything that a task does that was created there.
//!
//! **Why it helps.** Two operations that can run at the same time belong to the same dynamic
//! instance of a region. For let each belong to an instance, G and H. Only the main task opens
//! regions, so one of G and H encloses the other or ends before it begins. In the second case the
//! end orders the two operations. If G encloses H and they differ, then no task was live when H was
//! opened, and all that were created in it had ended when it was closed: what belongs to G and not
//! to H is before the one or behind the other. And an operation made when no other task is live is
//! ordered with everything ([`super::sequential`]).
//!
//! That a finish is a region is decided for the instruction that opens it, not for each of its
//! instances, so where another task *may* be live none is. That makes regions larger and the
//! argument stays the same: a finish that could have been one counts as none for everything inside
//! it.
//!
//! **How they are found.** [`super::liveness`] gives the innermost region that a function opened
//! itself; where there is none, that of the place it was called or created from holds, and a
//! function has those of all such places. With a `begin_finish`, whose end is not seen, and where
//! control comes from different finishes, the whole program is one region.
//!
//! Linear in the program, plus for each call the number of regions of the caller.

use super::liveness::{Enclosing, Flow, Liveness, Position, State};
use super::sparse_set::SparseSet;
use finishline_ir::{Construct, FunctionId, Module, Op};
use std::collections::BTreeMap;

/// The finish around `main`, or the whole program if it is not divided.
const ROOT: u32 = 0;

/// The regions of a program and where its functions are called.
pub(super) struct Regions {
    liveness: Liveness,
    /// By function; None if it never runs.
    functions: Vec<Option<Start>>,
    count: u32,
}

struct Start {
    flow: Flow,
    /// The regions it is called in.
    callers: SparseSet,
    /// The regions it opens.
    own: BTreeMap<Position, u32>,
}

impl Start {
    /// What an operation belongs to, whether another task is live there or not.
    fn region(&self, state: &State) -> Beside {
        match state.enclosing() {
            Enclosing::Own(opening) => {
                (self.own.get(&opening)).map_or(Beside::Callers, |region| Beside::Region(*region))
            }
            Enclosing::Callers | Enclosing::Unclear => Beside::Callers,
        }
    }
}

/// What is known of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beside {
    /// No other task is live.
    Nothing,
    /// Other tasks of this region may be.
    Region(u32),
    /// Other tasks of the regions that the function is called in may be.
    Callers,
}

impl Regions {
    pub(super) fn of(module: &Module) -> Regions {
        let liveness = Liveness::of(module);
        let mut regions = Regions {
            functions: starts(module, &liveness),
            liveness,
            count: ROOT + 1,
        };
        regions.number(module);
        regions.spread(module.main, &regions.calls(module));
        regions
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn runs(&self, function: FunctionId) -> bool {
        self.functions[function.index()].is_some()
    }

    /// The regions a function is called in.
    pub(super) fn callers(&self, function: FunctionId) -> Option<&SparseSet> {
        Some(&self.functions[function.index()].as_ref()?.callers)
    }

    /// Calls `visit` with every operation of a function that can run, in the order of the text.
    pub(super) fn for_each_op(
        &self,
        module: &Module,
        id: FunctionId,
        mut visit: impl FnMut(&Op, Position, Beside),
    ) {
        let Some(start) = &self.functions[id.index()] else {
            return;
        };
        let function = module.function(id);
        start
            .flow
            .for_each_op(function, &self.liveness, |op, at, state| {
                let beside = if state.live {
                    start.region(state)
                } else {
                    Beside::Nothing
                };
                visit(op, at, beside);
            });
    }

    /// Numbers the regions that functions open.
    fn number(&mut self, module: &Module) {
        let mut undivided = module.uses(Construct::BeginFinish).is_some();
        let starts = self.functions.iter_mut();
        for (function, start) in module.functions.iter().zip(starts) {
            let Some(Start { flow, own, .. }) = start else {
                continue;
            };
            flow.for_each_op(function, &self.liveness, |_, _, state| {
                match state.enclosing() {
                    Enclosing::Own(opening) => {
                        own.entry(opening).or_insert_with(|| {
                            self.count += 1;
                            self.count - 1
                        });
                    }
                    Enclosing::Unclear => undivided = true,
                    Enclosing::Callers => {}
                }
            });
        }
        if undivided {
            self.count = ROOT + 1;
            for start in self.functions.iter_mut().flatten() {
                start.own.clear();
            }
        }
    }

    /// By function, what it calls and creates, and in which region.
    fn calls(&self, module: &Module) -> Vec<Vec<(FunctionId, Beside)>> {
        let mut calls = vec![Vec::new(); module.functions.len()];
        for ((function, start), calls) in
            module.functions.iter().zip(&self.functions).zip(&mut calls)
        {
            let Some(start) = start else { continue };
            start
                .flow
                .for_each_op(function, &self.liveness, |op, _, state| {
                    if let Op::Call { function, .. } | Op::Spawn { function, .. } = op {
                        calls.push((*function, start.region(state)));
                    }
                });
        }
        calls
    }

    /// Tells every function which regions it is called in.
    fn spread(&mut self, main: FunctionId, calls: &[Vec<(FunctionId, Beside)>]) {
        let mut waiting = Vec::new();
        self.call(main, &SparseSet::of(ROOT), &mut waiting);
        for (callee, region) in calls.iter().flatten() {
            if let Beside::Region(region) = region {
                self.call(*callee, &SparseSet::of(*region), &mut waiting);
            }
        }
        while let Some((id, news)) = waiting.pop() {
            for (callee, region) in &calls[id.index()] {
                if *region == Beside::Callers {
                    self.call(*callee, &news, &mut waiting);
                }
            }
        }
    }

    fn call(
        &mut self,
        callee: FunctionId,
        regions: &SparseSet,
        waiting: &mut Vec<(FunctionId, SparseSet)>,
    ) {
        if let Some(start) = &mut self.functions[callee.index()] {
            let news = start.callers.add(regions);
            if !news.is_empty() {
                waiting.push((callee, news));
            }
        }
    }
}

/// By function, what is known in it with another task live where it starts if that may be, unless
/// it never runs.
fn starts(module: &Module, liveness: &Liveness) -> Vec<Option<Start>> {
    let mut starts: Vec<Option<Start>> = (0..module.functions.len()).map(|_| None).collect();
    let mut waiting = vec![(module.main, false)];
    while let Some((id, live)) = waiting.pop() {
        let start = &mut starts[id.index()];
        if start.as_ref().is_some_and(|start| start.flow.live || !live) {
            continue;
        }
        let function = module.function(id);
        let flow = Flow::of(function, live, liveness);
        flow.for_each_op(function, liveness, |op, _, state| match op {
            Op::Call { function, .. } => waiting.push((*function, state.live)),
            Op::Spawn { function, .. } => waiting.push((*function, true)),
            _ => {}
        });
        *start = Some(Start {
            flow,
            callers: SparseSet::default(),
            own: BTreeMap::new(),
        });
    }
    starts
}
