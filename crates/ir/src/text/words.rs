//! The words of the text form that stand for one case of an enumeration.

use crate::module::{BinaryOp, CompareOp, Construct, MathFunction, Type, UnaryOp};
use finishline_model::{AccessKind, FinishKind, TaskKind};

pub(super) trait Word: Copy + 'static {
    const ALL: &'static [Self];

    fn word(self) -> &'static str;

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|case| case.word() == word)
    }
}

impl Word for UnaryOp {
    const ALL: &'static [UnaryOp] = &[UnaryOp::Negate, UnaryOp::Not];

    fn word(self) -> &'static str {
        match self {
            UnaryOp::Negate => "negate",
            UnaryOp::Not => "not",
        }
    }
}

impl Word for BinaryOp {
    const ALL: &'static [BinaryOp] = &[
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::Multiply,
        BinaryOp::Divide,
        BinaryOp::Remainder,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::ShiftLeft,
        BinaryOp::ShiftRight,
        BinaryOp::ShiftRightLogical,
    ];

    fn word(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Subtract => "subtract",
            BinaryOp::Multiply => "multiply",
            BinaryOp::Divide => "divide",
            BinaryOp::Remainder => "remainder",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Xor => "xor",
            BinaryOp::ShiftLeft => "shift_left",
            BinaryOp::ShiftRight => "shift_right",
            BinaryOp::ShiftRightLogical => "shift_right_logical",
        }
    }
}

impl Word for CompareOp {
    const ALL: &'static [CompareOp] = &[
        CompareOp::Equal,
        CompareOp::NotEqual,
        CompareOp::Less,
        CompareOp::LessEqual,
        CompareOp::Greater,
        CompareOp::GreaterEqual,
    ];

    fn word(self) -> &'static str {
        match self {
            CompareOp::Equal => "equal",
            CompareOp::NotEqual => "not_equal",
            CompareOp::Less => "less",
            CompareOp::LessEqual => "less_equal",
            CompareOp::Greater => "greater",
            CompareOp::GreaterEqual => "greater_equal",
        }
    }
}

impl Word for FinishKind {
    const ALL: &'static [FinishKind] = &[
        FinishKind::Root,
        FinishKind::Lexical,
        FinishKind::Dynamic,
        FinishKind::SyncScope,
    ];

    fn word(self) -> &'static str {
        match self {
            FinishKind::Root => "root",
            FinishKind::Lexical => "finish",
            FinishKind::Dynamic => "dynamic_finish",
            FinishKind::SyncScope => "sync_scope",
        }
    }
}

impl Word for TaskKind {
    const ALL: &'static [TaskKind] = &[TaskKind::Main, TaskKind::Async, TaskKind::Spawn];

    fn word(self) -> &'static str {
        match self {
            TaskKind::Main => "main",
            TaskKind::Async => "async",
            TaskKind::Spawn => "spawn",
        }
    }
}

impl Word for AccessKind {
    const ALL: &'static [AccessKind] = &[AccessKind::Read, AccessKind::Write];

    fn word(self) -> &'static str {
        AccessKind::word(self)
    }
}

impl Word for Type {
    const ALL: &'static [Type] = &Type::ALL;

    fn word(self) -> &'static str {
        Type::word(self)
    }
}

impl Word for MathFunction {
    const ALL: &'static [MathFunction] = &MathFunction::ALL;

    fn word(self) -> &'static str {
        MathFunction::word(self)
    }
}

impl Word for Construct {
    const ALL: &'static [Construct] = &Construct::ALL;

    fn word(self) -> &'static str {
        Construct::word(self)
    }
}
