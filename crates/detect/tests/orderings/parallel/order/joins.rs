//! Knowledge: tasks that end at the same time join what they have learnt.

use super::learnt::{Joined, Learnt, NOTHING, Searches};
use crate::atomics::explore;
use loom::sync::Arc;
use loom::thread;

/// Steps of two sets.
const STEPS: [u32; 2] = [10, 20];

#[test]
fn tasks_that_end_together_lose_no_knowledge() {
    explore(|| {
        let shared = Arc::new((Learnt::new().unwrap(), Joined::nothing()));
        let sets = STEPS.map(|step| shared.0.set(step, NOTHING).unwrap());
        let tasks = sets.map(|set| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (learnt, joined) = &*shared;
                let knows = learnt.get(NOTHING, set).unwrap();
                joined.add(learnt, knows).unwrap();
            })
        });
        for task in tasks {
            task.join().unwrap();
        }
        let (learnt, joined) = &*shared;
        for (step, set) in STEPS.into_iter().zip(sets) {
            // A search for sets from this one on leaves out rows that lead to smaller ones.
            let found = learnt.leads_to(
                &mut Searches::default(),
                joined.all(),
                (step, set),
                |reached| reached == step,
            );
            assert!(found, "{step}");
        }
    });
}
