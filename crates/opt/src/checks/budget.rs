//! The limit on the cost of an analysis of the whole program. Beyond it the analysis has no result.

use finishline_ir::Module;

/// Words of sets that may be looked at: enough for any program of a few thousand lines, then in
/// proportion to its size, and in the end about a second's work.
const AT_LEAST: usize = 1 << 20;
const PER_INSTRUCTION: usize = 40;
const AT_MOST: usize = 1 << 24;

pub(super) struct Budget {
    words: usize,
}

impl Budget {
    pub(super) fn of(module: &Module) -> Budget {
        let blocks = module.functions.iter().flat_map(|f| &f.blocks);
        let instructions: usize = blocks.map(|block| block.instructions.len()).sum();
        Budget {
            words: (AT_LEAST + PER_INSTRUCTION * instructions).min(AT_MOST),
        }
    }

    pub(super) fn spend(&mut self, words: usize) {
        self.words = self.words.saturating_sub(words);
    }

    /// None if it is used up.
    pub(super) fn rest(&self) -> Option<usize> {
        (self.words > 0).then_some(self.words)
    }
}
