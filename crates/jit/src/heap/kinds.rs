//! Kinds of objects: all that objects of one span have in common.
//!
//! A struct is a kind, the globals are one, and the promises of a type are one. Arrays are of one
//! kind if they have the same element type and number of dimensions, and their bytes round up to
//! the same size. So a span knows where in a slot the data begins, which words are references and
//! what an object costs; only for the cost of an array the header is needed. All kinds are known
//! before the program runs.

use super::layout::{Cells, Extent, SMALLEST_OBJECT, WORD_BYTES, array_prefix};
use super::spans::SPAN_BYTES;
use finishline_ir::{StructId, StructLayout, Type, cost};
use finishline_model::entity;
use std::ops::Index;

entity! {
    KindId, "kind";
}

/// Objects up to this size share a span.
pub(super) const LARGEST_SMALL: usize = SPAN_BYTES / 4;

pub(super) struct Kind {
    /// Bytes from the start of an object to its data.
    pub(super) prefix: usize,
    /// How objects share a span; `None` if each has its own.
    pub(super) slot: Option<Slot>,
    pub(super) references: References,
    cost: u64,
    cost_of_element: u64,
}

/// Which words of the data are references.
pub(super) enum References {
    None,
    Fields(Box<[u32]>),
    All,
}

impl Kind {
    /// What an object costs, as the budget counts it; `count` is asked for only if that matters.
    #[inline]
    pub(super) fn cost(&self, count: impl FnOnce() -> u64) -> u64 {
        match self.cost_of_element {
            0 => self.cost,
            each => self.cost + each * count(),
        }
    }
}

/// Equal parts of a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub(super) bytes: u32,
    pub(super) per_span: u32,
    /// 2³² / bytes, rounded up.
    reciprocal: u32,
}

impl Slot {
    fn new(bytes: usize) -> Slot {
        assert!((SMALLEST_OBJECT..=LARGEST_SMALL).contains(&bytes));
        Slot {
            bytes: bytes as u32,
            per_span: (SPAN_BYTES / bytes) as u32,
            reciprocal: (1u64 << 32).div_ceil(bytes as u64) as u32,
        }
    }

    /// `offset / bytes` for an offset in a span. The reciprocal is too big by less than 1, so the
    /// product by less than 2¹⁶, which is less than the 2³²/bytes that lie between the largest
    /// remainder and the next quotient.
    #[inline]
    pub(super) fn index(self, offset: usize) -> usize {
        ((offset as u64 * u64::from(self.reciprocal)) >> 32) as usize
    }
}

/// Arrays up to this size come in every size.
const LARGEST_BY_WORDS: usize = 64;
const BY_WORDS: usize = (LARGEST_BY_WORDS - SMALLEST_OBJECT) / WORD_BYTES + 1;

/// Sizes of small arrays: by 8 bytes up to 64, then four between a power of two and the next.
fn size_class(bytes: usize) -> usize {
    if bytes <= LARGEST_BY_WORDS {
        bytes.saturating_sub(SMALLEST_OBJECT).div_ceil(WORD_BYTES)
    } else {
        let shift = (bytes - 1).ilog2() as usize - 2;
        BY_WORDS + 4 * (shift - 4) + ((bytes - 1) >> shift) % 4
    }
}

fn class_bytes(class: usize) -> usize {
    match class {
        ..BY_WORDS => SMALLEST_OBJECT + class * WORD_BYTES,
        _ => {
            let above = class - BY_WORDS;
            (5 + above % 4) << (4 + above / 4)
        }
    }
}

/// One more than those of small arrays: arrays with a span of their own.
const CLASSES: usize =
    BY_WORDS + 4 * (LARGEST_SMALL.ilog2() - LARGEST_BY_WORDS.ilog2()) as usize + 1;
const OWN_SPAN: usize = CLASSES - 1;

/// The number of the kind of globals.
const GLOBALS: usize = Type::ALL.len();

const UNKNOWN: KindId = KindId(u32::MAX);

/// What all objects of a struct, or the globals, have in common besides their kind.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub(super) extent: Extent,
    pub(super) fields: u64,
    pub(super) cost: u64,
}

pub(super) struct Kinds {
    kinds: Vec<Kind>,
    /// Of the first kinds: promises by the type that they carry, the globals, the structs in order.
    records: Vec<Record>,
    /// The first kind of arrays with a number of dimensions and a type of elements; then they come
    /// by size class.
    arrays: Vec<[KindId; Type::ALL.len()]>,
}

/// The objects of a program.
#[derive(Clone, Copy)]
pub(crate) struct Shapes<'a> {
    pub(crate) structs: &'a [StructLayout],
    pub(crate) globals: &'a [Type],
    /// The elements and the number of dimensions.
    pub(crate) arrays: &'a [(Type, usize)],
}

impl Kinds {
    pub(super) fn new(shapes: Shapes<'_>, cells: Cells) -> Kinds {
        let structs = shapes
            .structs
            .iter()
            .map(|layout| layout.fields.iter().map(|&(_, ty)| ty).collect());
        let promises = Type::ALL.map(|carried| vec![carried, Type::Int]);
        let (kinds, records) = promises
            .into_iter()
            .chain([shapes.globals.to_vec()])
            .chain(structs)
            .map(|types: Vec<Type>| record(&types, cells))
            .unzip();
        let mut kinds = Kinds {
            kinds,
            records,
            arrays: Vec::new(),
        };
        for &(element, dimensions) in shapes.arrays {
            kinds.add_arrays(element, dimensions);
        }
        kinds
    }

    fn add_arrays(&mut self, element: Type, dimensions: usize) {
        if self.arrays.len() <= dimensions {
            self.arrays
                .resize(dimensions + 1, [UNKNOWN; Type::ALL.len()]);
        }
        let first = &mut self.arrays[dimensions][element.index()];
        if *first != UNKNOWN {
            return;
        }
        *first = KindId::from_index(self.kinds.len());
        self.kinds.extend((0..CLASSES).map(|class| Kind {
            prefix: array_prefix(dimensions),
            slot: (class != OWN_SPAN).then(|| Slot::new(class_bytes(class))),
            references: match element {
                Type::Ref => References::All,
                _ => References::None,
            },
            cost: cost::OBJECT,
            cost_of_element: element.size(),
        }));
    }

    pub(super) fn of_struct(&self, layout: StructId) -> KindId {
        KindId::from_index(GLOBALS + 1 + layout.index())
    }

    pub(super) fn of_globals(&self) -> KindId {
        KindId::from_index(GLOBALS)
    }

    pub(super) fn of_promise(&self, carried: Type) -> KindId {
        KindId::from_index(carried.index())
    }

    /// Of a kind that one of the three functions above gave.
    #[inline]
    pub(super) fn record(&self, kind: KindId) -> Record {
        self.records[kind.index()]
    }

    /// # Panics
    ///
    /// If the program has no such arrays.
    #[inline]
    pub(super) fn of_array(&self, element: Type, dimensions: usize, extent: Extent) -> KindId {
        let class = match extent.bytes {
            ..=LARGEST_SMALL => size_class(extent.bytes),
            _ => OWN_SPAN,
        };
        let first = self.arrays[dimensions][element.index()];
        assert!(first != UNKNOWN, "the program makes no such arrays");
        KindId::from_index(first.index() + class)
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }
}

impl Index<KindId> for Kinds {
    type Output = Kind;

    #[inline]
    fn index(&self, id: KindId) -> &Kind {
        &self.kinds[id.index()]
    }
}

fn record(types: &[Type], cells: Cells) -> (Kind, Record) {
    // A field takes more in the layout it is read from.
    let extent = Extent::of_fields(types.len(), cells).expect("a struct fits in memory");
    let references: Box<[u32]> = (0u32..)
        .zip(types)
        .filter(|&(_, &ty)| ty == Type::Ref)
        .map(|(field, _)| field)
        .collect();
    let fields = types.len() as u64;
    let cost = cost::OBJECT + fields * cost::FIELD;
    let kind = Kind {
        prefix: extent.prefix,
        slot: (extent.bytes <= LARGEST_SMALL).then(|| Slot::new(extent.bytes)),
        references: match references.is_empty() {
            true => References::None,
            false => References::Fields(references),
        },
        cost,
        cost_of_element: 0,
    };
    let record = Record {
        extent,
        fields,
        cost,
    };
    (kind, record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_class_is_the_least_that_holds_the_bytes() {
        let sizes: Vec<usize> = (0..OWN_SPAN).map(class_bytes).collect();
        assert!(sizes.is_sorted_by(|a, b| a < b));
        assert_eq!(sizes[..10], [32, 40, 48, 56, 64, 80, 96, 112, 128, 160]);
        assert_eq!(sizes.last(), Some(&LARGEST_SMALL));
        assert!(sizes.iter().all(|bytes| bytes % 8 == 0));
        for bytes in SMALLEST_OBJECT..=LARGEST_SMALL {
            let expected = sizes.iter().position(|&size| size >= bytes);
            assert_eq!(Some(size_class(bytes)), expected, "{bytes}");
        }
    }

    #[test]
    fn the_slot_of_every_offset_is_the_quotient() {
        for bytes in (SMALLEST_OBJECT..=LARGEST_SMALL).step_by(8) {
            let slot = Slot::new(bytes);
            assert!(slot.per_span as usize * bytes <= SPAN_BYTES);
            // The quotient is monotonic: it is right everywhere if it is where it changes.
            for index in 0..=SPAN_BYTES / bytes {
                assert_eq!(slot.index(index * bytes), index);
                assert_eq!(slot.index(index * bytes + bytes - 1), index);
            }
        }
    }

    #[test]
    fn kinds_tell_references_and_costs() {
        let layout = StructLayout {
            name: "node".into(),
            fields: [Type::Int, Type::Ref, Type::Byte, Type::Ref]
                .map(|ty| (String::new(), ty))
                .to_vec(),
        };
        let shapes = Shapes {
            structs: &[layout],
            globals: &[Type::Float],
            arrays: &[
                (Type::Byte, 2),
                (Type::Bool, 2),
                (Type::Byte, 1),
                (Type::Byte, 2),
                (Type::Ref, 2),
            ],
        };
        let kinds = Kinds::new(shapes, Cells::Word);
        let node = &kinds[kinds.of_struct(StructId(0))];
        assert!(matches!(&node.references, References::Fields(fields) if **fields == [1, 3]));
        assert_eq!(node.cost(|| unreachable!()), cost::OBJECT + 4 * cost::FIELD);
        assert_eq!(node.slot.unwrap().bytes, 4 * 8 + 24 + 4 * 8);
        let globals = &kinds[kinds.of_globals()];
        assert!(matches!(globals.references, References::None));
        for carried in Type::ALL {
            let promise = &kinds[kinds.of_promise(carried)];
            let expected: &[u32] = if carried == Type::Ref { &[0] } else { &[] };
            let found = match &promise.references {
                References::None => &[],
                References::Fields(fields) => &**fields,
                References::All => panic!("a promise is no array"),
            };
            assert_eq!(found, expected);
            assert_eq!(promise.cost(|| 0), cost::OBJECT + 2 * cost::FIELD);
        }

        let extent = |element, count| Extent::of_array(element, 2, count, Cells::Word).unwrap();
        let bytes = kinds.of_array(Type::Byte, 2, extent(Type::Byte, 20));
        assert_eq!(kinds[bytes].cost(|| 20), cost::OBJECT + 20);
        let again = kinds.of_array(Type::Byte, 2, extent(Type::Byte, 19));
        assert_eq!(bytes, again);
        let others = [
            kinds.of_array(Type::Bool, 2, extent(Type::Byte, 20)),
            kinds.of_array(Type::Byte, 1, extent(Type::Byte, 20)),
            kinds.of_array(Type::Byte, 2, extent(Type::Byte, 200)),
            kinds.of_array(Type::Byte, 2, extent(Type::Byte, 20_000)),
            kinds.of_array(Type::Ref, 2, extent(Type::Ref, 20)),
        ];
        for (index, other) in others.iter().enumerate() {
            assert!(*other != bytes && !others[..index].contains(other));
        }
        assert!(kinds[others[3]].slot.is_none());
        assert!(matches!(kinds[others[4]].references, References::All));
    }
}
