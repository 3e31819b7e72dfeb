//! Traces as lists of chunks, to be changed and sealed again with right checksums.

/// The header of a trace, and its chunks: kind and contents.
#[derive(Clone)]
pub(crate) struct Taken {
    pub(crate) header: Vec<u8>,
    pub(crate) chunks: Vec<(u8, Vec<u8>)>,
}

const HEADER: usize = 16;
const FRAME: usize = 9;

impl Taken {
    pub(crate) fn apart(trace: &[u8]) -> Taken {
        let mut chunks = Vec::new();
        let mut rest = &trace[HEADER..];
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[1..5].try_into().expect("four bytes"));
            let (chunk, behind) = rest.split_at(FRAME + length as usize);
            chunks.push((chunk[0], chunk[FRAME..].to_vec()));
            rest = behind;
        }
        Taken {
            header: trace[..HEADER].to_vec(),
            chunks,
        }
    }

    /// The trace up to its first chunks.
    pub(crate) fn cut(&self, chunks: usize) -> Vec<u8> {
        let mut whole = self.header.clone();
        for (number, (kind, contents)) in self.chunks[..chunks].iter().enumerate() {
            let mut frame = vec![*kind];
            frame.extend((contents.len() as u32).to_le_bytes());
            let covered = [&(number as u64).to_le_bytes()[..], &frame, contents].concat();
            whole.extend(frame);
            whole.extend(checksum(&covered).to_le_bytes());
            whole.extend(contents);
        }
        whole
    }

    pub(crate) fn sealed(&self) -> Vec<u8> {
        self.cut(self.chunks.len())
    }

    /// Changes some bytes of the contents, adds some and removes some.
    pub(crate) fn damage(&mut self, random: &mut Random) {
        for _ in 0..=random.below(3) {
            let chunk = random.below(self.chunks.len());
            let contents = &mut self.chunks[chunk].1;
            let at = random.below(contents.len().max(1));
            match random.below(8) {
                0 => contents.insert(at.min(contents.len()), random.next() as u8),
                1 if !contents.is_empty() => {
                    contents.remove(at);
                }
                2 if !contents.is_empty() => contents.truncate(at),
                3 => {
                    let other = random.below(self.chunks.len());
                    self.chunks.swap(chunk, other);
                }
                4 | 5 if !contents.is_empty() => contents[at] = random.next() as u8,
                _ if !contents.is_empty() => contents[at] ^= 1 << random.below(8),
                _ => {}
            }
        }
    }
}

/// CRC-32, bit by bit.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !sum
}

/// Numbers that look random: xorshift.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}
