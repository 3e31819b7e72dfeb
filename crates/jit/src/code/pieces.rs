//! Simple loops in pieces: a long one looks at the signals of other workers in between.
//!
//! [`crate::polls`] says which loops are simple. The counter begins with the length of the first
//! piece. What is left is a variable of the compiler's, which the loop itself does not use.

use super::Code;
use crate::polls::{PIECE, Simple};
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self as clif, BlockArg, InstBuilder};
use cranelift_frontend::Variable;
use finishline_ir::{BlockId, Target};
use rustc_hash::FxHashMap;

/// The simple loops of a function.
pub(super) struct Pieces {
    by_header: FxHashMap<BlockId, InPieces>,
    /// Their headers.
    by_test: FxHashMap<BlockId, BlockId>,
}

#[derive(Clone, Copy)]
struct InPieces {
    simple: Simple,
    /// How often it still goes around after the present piece.
    left: Variable,
}

impl Pieces {
    pub(super) fn none() -> Pieces {
        Pieces {
            by_header: FxHashMap::default(),
            by_test: FxHashMap::default(),
        }
    }
}

impl Code<'_, '_> {
    pub(super) fn loops_in_pieces(&mut self, loops: &[Simple]) {
        for &simple in loops {
            let left = self.builder.declare_var(I64);
            let in_pieces = InPieces { simple, left };
            self.pieces.by_header.insert(simple.header, in_pieces);
            self.pieces.by_test.insert(simple.test, simple.header);
        }
    }

    /// What a block passes to another one. Where it enters a loop in pieces, that is the first
    /// piece.
    pub(super) fn arguments_from(&mut self, source: BlockId, target: &Target) -> Vec<BlockArg> {
        let arguments = target.arguments.iter();
        let mut arguments: Vec<clif::Value> = arguments.map(|a| self.get(*a)).collect();
        if let Some(&entered) = self.pieces.by_header.get(&target.block)
            && entered.simple.latch != source
        {
            let all = arguments[entered.simple.place];
            arguments[entered.simple.place] = self.piece(entered, all);
        }
        arguments.into_iter().map(BlockArg::Value).collect()
    }

    /// How often the loop goes around in the next piece, if it does so all in all so often.
    fn piece(&mut self, in_pieces: InPieces, all: clif::Value) -> clif::Value {
        let most = self.int(PIECE);
        let piece = self.builder.ins().umin(all, most);
        let left = self.builder.ins().isub(all, piece);
        self.builder.def_var(in_pieces.left, left);
        piece
    }

    /// Whether a piece of a loop ends behind this block, if its counter is 0.
    pub(super) fn is_end_of_piece(&self, block: BlockId) -> bool {
        self.pieces.by_test.contains_key(&block)
    }

    /// Behind a piece: looks at the signals and goes on with the next one, or leaves the loop.
    pub(super) fn next_piece(&mut self, test: BlockId, then: &Target, otherwise: &Target) {
        let in_pieces = self.pieces.by_header[&self.pieces.by_test[&test]];
        let Simple {
            header,
            latch,
            place,
            ..
        } = in_pieces.simple;
        let [more, done] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.set_cold_block(more);
        let left = self.builder.use_var(in_pieces.left);
        self.builder.ins().brif(left, more, &[], done, &[]);

        self.builder.switch_to_block(more);
        self.poll();
        let left = self.builder.use_var(in_pieces.left);
        let piece = self.piece(in_pieces, left);
        // The latch goes around. The header has not begun to.
        let values = match test == latch {
            true => &then.arguments,
            false => &self.function.block(header).parameters,
        };
        let mut arguments: Vec<clif::Value> = values.iter().map(|value| self.get(*value)).collect();
        arguments[place] = piece;
        let arguments: Vec<_> = arguments.into_iter().map(BlockArg::Value).collect();
        let header = self.blocks[header.index()];
        self.builder.ins().jump(header, &arguments);

        self.builder.switch_to_block(done);
        let arguments = self.arguments_from(test, otherwise);
        let otherwise = self.blocks[otherwise.block.index()];
        self.builder.ins().jump(otherwise, &arguments);
    }
}
