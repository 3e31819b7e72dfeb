//! IDEA, encryption and decryption of a text; see `programs/esp-bags/crypt.fin`.

use crate::Size;
use crate::random::Random;

type Subkeys = [u16; 52];
type Block = [u8; 8];

fn length(size: Size) -> usize {
    match size {
        Size::Small => 24,
        Size::A => 3_000_000,
        Size::B => 20_000_000,
        Size::C => 50_000_000,
    }
}

pub fn run(size: Size) -> String {
    let n = length(size);
    let mut random = Random::from_state(1);
    let key = std::array::from_fn(|_| random.bits(16) as u16);
    let plain: Vec<u8> = (0..n).map(|_| random.bits(8) as u8).collect();
    let mut crypt = vec![0; n];
    let mut back = vec![0; n];
    let encryption_keys = subkeys(key);
    let decryption_keys = inverses(&encryption_keys);

    for (from, to) in plain.as_chunks().0.iter().zip(crypt.as_chunks_mut().0) {
        *to = cipher(&encryption_keys, from);
    }
    for (from, to) in crypt.as_chunks().0.iter().zip(back.as_chunks_mut().0) {
        *to = cipher(&decryption_keys, from);
    }

    check_test_vector();
    let mut checksum = 0_i64;
    for ((plain, crypt), back) in plain.iter().zip(&crypt).zip(&back) {
        assert_eq!(plain, back, "a byte after decryption");
        checksum = checksum.wrapping_mul(31).wrapping_add(i64::from(*crypt));
    }
    format!("crypt {n} checksum {checksum}")
}

/// Eight rounds with six subkeys each and a last half round with four.
fn cipher(keys: &Subkeys, from: &Block) -> Block {
    let word = |at: usize| u16::from_be_bytes([from[at], from[at + 1]]);
    let [mut x1, mut x2, mut x3, mut x4] = [word(0), word(2), word(4), word(6)];
    for key in keys[..48].as_chunks::<6>().0 {
        x1 = multiply(x1, key[0]);
        x2 = x2.wrapping_add(key[1]);
        x3 = x3.wrapping_add(key[2]);
        x4 = multiply(x4, key[3]);
        let s = multiply(x1 ^ x3, key[4]);
        let t = multiply(s.wrapping_add(x2 ^ x4), key[5]);
        let u = s.wrapping_add(t);
        x1 ^= t;
        (x2, x3) = (x3 ^ t, x2 ^ u);
        x4 ^= u;
    }
    let [a, b] = multiply(x1, keys[48]).to_be_bytes();
    let [c, d] = x3.wrapping_add(keys[49]).to_be_bytes();
    let [e, f] = x2.wrapping_add(keys[50]).to_be_bytes();
    let [g, h] = multiply(x4, keys[51]).to_be_bytes();
    [a, b, c, d, e, f, g, h]
}

/// The product modulo the prime 65,537, where 0 stands for 65,536. As 65,536 is -1 there, the upper
/// half of a product is subtracted from the lower half. If the difference is negative, 65,537 must
/// be added, which in 16 bits is 1.
fn multiply(a: u16, b: u16) -> u16 {
    let factor = |word: u16| i64::from(word.wrapping_sub(1)) + 1;
    let product = factor(a) * factor(b);
    let difference = (product & 0xffff) - (product >> 16);
    (difference - (difference >> 63)) as u16
}

/// The eight words of the key, then those of the key rotated left by 25 bits, again and again.
fn subkeys(key: [u16; 8]) -> Subkeys {
    let mut keys = [0; 52];
    keys[..8].copy_from_slice(&key);
    for i in 8..52 {
        let last_eight = i - i % 8 - 8;
        let left = keys[last_eight + (i + 1) % 8];
        let right = keys[last_eight + (i + 2) % 8];
        keys[i] = left << 9 | right >> 7;
    }
    keys
}

/// The subkeys of encryption from the last round to the first. Those that multiply or add are
/// inverted. The middle rounds exchange their two inner words, so the two keys added to these are
/// exchanged as well.
fn inverses(keys: &Subkeys) -> Subkeys {
    let mut inverted = [0; 52];
    for round in 0..9 {
        let to = 6 * round;
        let from = 6 * (8 - round);
        let exchanged = usize::from((1..8).contains(&round));
        inverted[to] = reciprocal(keys[from]);
        inverted[to + 1] = keys[from + 1 + exchanged].wrapping_neg();
        inverted[to + 2] = keys[from + 2 - exchanged].wrapping_neg();
        inverted[to + 3] = reciprocal(keys[from + 3]);
        if round < 8 {
            inverted[to + 4] = keys[from - 2];
            inverted[to + 5] = keys[from - 1];
        }
    }
    inverted
}

/// The reciprocal is the power 65,535 by Fermat's little theorem. All 16 bits of 65,535 are 1.
fn reciprocal(a: u16) -> u16 {
    (0..16).fold(1, |power, _| multiply(multiply(power, power), a))
}

/// The key 1, 2, …, 8 maps the words 0, 1, 2, 3 to 11fb, ed2b, 0198, 6de5.
fn check_test_vector() {
    let keys = subkeys([1, 2, 3, 4, 5, 6, 7, 8]);
    let plain = [0, 0, 0, 1, 0, 2, 0, 3];
    let crypt = cipher(&keys, &plain);
    assert_eq!(crypt, [0x11, 0xfb, 0xed, 0x2b, 0x01, 0x98, 0x6d, 0xe5]);
    assert_eq!(cipher(&inverses(&keys), &crypt), plain);
}
