//! Damaged sources. For any bytes a front end must answer with diagnostics and never crash.
//!
//! Most mutations keep most of a real program, so that the damage lies deep inside. Some make text
//! from scratch. The result is a pure function of the source and the seed.

use crate::rng::Rng;

/// Tokens that are likely to confuse, in addition to those of the source.
const TOKENS: [&str; 44] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "..",
    "..=",
    "step",
    "=",
    "==",
    "?",
    ":",
    ">>>=",
    "-",
    "!",
    "async",
    "finish",
    "isolated",
    "forall",
    "spawn",
    "sync",
    "begin_finish",
    "end_finish",
    "fn",
    "struct",
    "var",
    "let",
    "return",
    "break",
    "new",
    "null",
    "len",
    "int",
    "main",
    "future",
    "locked",
    "1.5",
    "'\\x80'",
    "\"\\xff\"",
    "/*",
    "//",
];

/// Literals at and past the limits, and broken ones.
const LITERALS: [&str; 16] = [
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "0xffffffffffffffff",
    "0x",
    "0b2",
    "1__0_",
    "1e999",
    "1e-999",
    "1.e5",
    "1e",
    "'ab'",
    "'",
    "\"\\q\"",
];

/// Pieces that nest when repeated, each with its closing piece.
const NESTS: [(&str, &str); 12] = [
    ("(", ")"),
    ("{", "}"),
    ("-", ""),
    ("!", ""),
    ("a[", "]"),
    ("async ", ";"),
    ("finish {", "}"),
    ("if true {", "}"),
    ("if true {} else ", "{}"),
    ("c ? ", " : 0"),
    ("/*", "*/"),
    ("f(", ")"),
];

/// A damaged copy of the source.
pub fn mutate(source: &[u8], seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = source.to_vec();
    for _ in 0..1 + rng.below(3) {
        bytes = mutate_once(&bytes, &mut rng);
    }
    bytes
}

/// Bytes from scratch: any bytes, any ASCII text, or any sequence of tokens.
pub fn random_bytes(seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let length = rng.below(300);
    match rng.below(3) {
        0 => (0..length).map(|_| rng.bits() as u8).collect(),
        1 => (0..length).map(|_| 32 + rng.below(95) as u8).collect(),
        _ => (0..length / 3)
            .flat_map(|_| format!("{} ", rng.pick(&TOKENS)).into_bytes())
            .collect(),
    }
}

fn mutate_once(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let position = rng.index(bytes.len() + 1);
    match rng.below(12) {
        0 => splice(bytes, position, 1, &[rng.bits() as u8]),
        1 => splice(bytes, position, 0, &[0xc3, 0x28, 0xff][..1 + rng.index(3)]),
        2 => bytes[..position].to_vec(),
        3 => bytes[position..].to_vec(),
        4 => splice(bytes, position, rng.index(40), &[]),
        5 => unbalance(bytes, rng),
        6 => nest(bytes, rng),
        _ => mutate_tokens(bytes, rng),
    }
}

fn splice(bytes: &[u8], at: usize, removed: usize, inserted: &[u8]) -> Vec<u8> {
    let end = (at + removed).min(bytes.len());
    [&bytes[..at], inserted, &bytes[end..]].concat()
}

/// Removes or doubles one delimiter.
fn unbalance(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let delimiters: Vec<usize> = (0..bytes.len())
        .filter(|&i| b"(){}[]\"';".contains(&bytes[i]))
        .collect();
    if delimiters.is_empty() {
        return bytes.to_vec();
    }
    let at = delimiters[rng.index(delimiters.len())];
    if rng.percent(50) {
        splice(bytes, at, 1, &[])
    } else {
        splice(bytes, at, 0, &[bytes[at]])
    }
}

/// Something nested, around the limit of 200 or far beyond it, closed or not.
fn nest(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let tokens = tokens(bytes);
    let at = match tokens.get(rng.index(tokens.len().max(1))) {
        Some(token) => token.0,
        None => 0,
    };
    let (open, close) = rng.pick(&NESTS);
    let depth = rng.pick(&[3, 150, 199, 200, 201, 5_000]);
    let mut inserted = open.repeat(depth);
    if rng.percent(60) {
        inserted.push_str("1;");
        inserted.push_str(&close.repeat(depth));
    }
    splice(bytes, at, 0, inserted.as_bytes())
}

/// Replaces, removes, doubles or swaps whole tokens.
fn mutate_tokens(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let tokens = tokens(bytes);
    if tokens.is_empty() {
        return rng.pick(&TOKENS).as_bytes().to_vec();
    }
    let (start, end) = tokens[rng.index(tokens.len())];
    let (other_start, other_end) = tokens[rng.index(tokens.len())];
    let padded = |text: &str| format!(" {text} ").into_bytes();
    match rng.below(7) {
        0 => splice(bytes, start, end - start, &[]),
        1 => splice(bytes, end, 0, &[b" ", &bytes[start..end]].concat()),
        2 => splice(bytes, start, end - start, &bytes[other_start..other_end]),
        3 if end <= other_start => [
            &bytes[..start],
            &bytes[other_start..other_end],
            &bytes[end..other_start],
            &bytes[start..end],
            &bytes[other_end..],
        ]
        .concat(),
        4 => splice(bytes, start, end - start, &padded(rng.pick(&LITERALS))),
        5 => splice(bytes, start, 0, &padded(rng.pick(&TOKENS))),
        _ => splice(bytes, start, end - start, &padded(rng.pick(&TOKENS))),
    }
}

/// The start and end of tokens, roughly: runs of word characters, and single other characters.
fn tokens(bytes: &[u8]) -> Vec<(usize, usize)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        if is_word(bytes[start]) {
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
        }
        if !bytes[start].is_ascii_whitespace() {
            out.push((start, at));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &[u8] = b"var x: int;\nfn main() { async { x = 1; } x = 2; }\n";

    #[test]
    fn a_seed_names_one_mutation() {
        for seed in 0..200 {
            assert_eq!(mutate(SOURCE, seed), mutate(SOURCE, seed));
            assert_eq!(random_bytes(seed), random_bytes(seed));
        }
    }

    #[test]
    fn tokens_cover_everything_but_white_space() {
        let text = b"x1 >= 2;";
        let words: Vec<&[u8]> = tokens(text).iter().map(|&(a, b)| &text[a..b]).collect();
        assert_eq!(words, [b"x1".as_slice(), b">", b"=", b"2", b";"]);
    }

    #[test]
    fn every_kind_of_damage_occurs() {
        let all: Vec<Vec<u8>> = (0..2000).map(|seed| mutate(SOURCE, seed)).collect();
        let some = |property: &dyn Fn(&[u8]) -> bool| all.iter().any(|bytes| property(bytes));
        let open = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'{').count();
        let close = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'}').count();
        assert!(some(&|b| std::str::from_utf8(b).is_err()), "invalid UTF-8");
        assert!(some(&|b| b.len() > 5_000), "deep nesting");
        assert!(some(&|b| open(b) != close(b)), "unbalanced delimiters");
        assert!(
            some(&|b| b.windows(19).any(|w| w == b"9223372036854775808")),
            "huge literals"
        );
        assert!(some(&|b| b.len() < SOURCE.len() / 2), "truncation");
    }

    #[test]
    fn nothing_to_mutate_is_no_problem() {
        for seed in 0..2000 {
            mutate(b"", seed);
            mutate(b" ", seed);
        }
    }
}
