//! A vector clock that shares what it has in common with others: from numbers of tasks to epochs.
//!
//! A clock is a few layers, each a map that never changes. A layer is at least twice as large as
//! the next one: what is added is merged with the layers that are not. So a copy takes logarithmic
//! time, and an entry is moved a logarithmic number of times, as long as clocks don't part. Clocks
//! of tasks with a common ancestor share their large layers. Joining two clocks takes as long as
//! what they don't share is large.

use finishline_model::hash::IdMap;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    /// The largest first.
    layers: Vec<Arc<IdMap<u32, u32>>>,
}

impl Layers {
    /// The epoch that is known of a task, or 0.
    #[inline]
    pub(super) fn get(&self, task: u32) -> u32 {
        let known = self.layers.iter().filter_map(|layer| layer.get(&task));
        known.max().copied().unwrap_or(0)
    }

    pub(super) fn learn(&mut self, task: u32, epoch: u32) {
        self.add([(task, epoch)].into_iter().collect());
    }

    /// Adds entries. The later epoch of a task counts.
    pub(super) fn add(&mut self, mut entries: IdMap<u32, u32>) {
        if entries.is_empty() {
            return;
        }
        while let Some(last) = self.layers.pop_if(|last| last.len() < 2 * entries.len()) {
            for (&task, &epoch) in &*last {
                let known = entries.entry(task).or_insert(epoch);
                *known = epoch.max(*known);
            }
        }
        self.layers.push(Arc::new(entries));
    }

    pub(super) fn join(&mut self, other: &Layers) {
        for layer in &other.layers {
            if !self.layers.iter().any(|own| Arc::ptr_eq(own, layer)) {
                self.add((**layer).clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_know_the_latest_of_all_that_they_were_told() {
        let mut state = 1u64;
        let mut random = |limit: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) % limit
        };
        let mut clocks = vec![(Layers::default(), IdMap::default())];
        for _ in 0..2_000 {
            let [one, other] = [0; 2].map(|_| random(clocks.len() as u64) as usize);
            match random(3) {
                0 if clocks.len() < 20 => clocks.push(clocks[one].clone()),
                1 => {
                    let (layers, plain) = clocks[other].clone();
                    clocks[one].0.join(&layers);
                    for (task, epoch) in plain {
                        let known: &mut u32 = clocks[one].1.entry(task).or_default();
                        *known = epoch.max(*known);
                    }
                }
                _ => {
                    let (task, epoch) = (random(50) as u32, 1 + random(9) as u32);
                    let (layers, plain) = &mut clocks[one];
                    layers.learn(task, epoch);
                    let known: &mut u32 = plain.entry(task).or_default();
                    *known = epoch.max(*known);
                }
            }
            let (layers, plain) = &clocks[one];
            for task in 0..50 {
                assert_eq!(layers.get(task), plain.get(&task).copied().unwrap_or(0));
            }
            let sizes: Vec<usize> = layers.layers.iter().map(|layer| layer.len()).collect();
            assert!(
                sizes.windows(2).all(|pair| pair[0] >= 2 * pair[1]),
                "{sizes:?}"
            );
        }
    }
}
