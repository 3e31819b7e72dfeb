//! A Rust file taken apart into code and comments: a rule about one never fires on the other, nor
//! on a string.
//!
//! This is no parser. It knows comments (nested ones too), string, byte, raw string and character
//! literals, and tells lifetimes from characters. Literals belong to neither part. Each character
//! keeps its line and column.

pub(super) struct RustSource {
    /// Line by line, without comments and literals.
    pub(super) code: Vec<String>,
    /// Line by line, the text of comments alone.
    pub(super) comments: Vec<String>,
}

/// A word or one character of punctuation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token<'a> {
    pub(super) line: usize,
    pub(super) text: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

impl RustSource {
    pub(super) fn new(text: &str) -> RustSource {
        let characters: Vec<char> = text.chars().collect();
        let (mut code, mut comments) = (String::new(), String::new());
        let mut at = 0;
        while at < characters.len() {
            let (part, length) = next_piece(&characters, at);
            for &character in &characters[at..at + length] {
                let kept = |wanted| if part == wanted { character } else { ' ' };
                if character == '\n' {
                    code.push('\n');
                    comments.push('\n');
                } else {
                    code.push(kept(Part::Code));
                    comments.push(kept(Part::Comment));
                }
            }
            at += length;
        }
        let lines = |text: String| text.lines().map(str::to_string).collect();
        RustSource {
            code: lines(code),
            comments: lines(comments),
        }
    }

    pub(super) fn tokens(&self) -> Vec<Token<'_>> {
        let mut tokens = Vec::new();
        for (line, code) in self.code.iter().enumerate() {
            let mut rest = code.trim_start();
            while let Some(first) = rest.chars().next() {
                let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let (text, after) = rest.split_at(word.max(first.len_utf8()));
                tokens.push(Token { line, text });
                rest = after.trim_start();
            }
        }
        tokens
    }

    /// The lines on which `wanted` begins, a sequence of tokens separated by spaces.
    pub(super) fn occurrences(&self, wanted: &str) -> Vec<usize> {
        let wanted: Vec<&str> = wanted.split(' ').collect();
        self.tokens()
            .windows(wanted.len())
            .filter(|window| {
                window
                    .iter()
                    .map(|token| token.text)
                    .eq(wanted.iter().copied())
            })
            .map(|window| window[0].line)
            .collect()
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// What begins at `at`, and how many characters long it is: at least one.
fn next_piece(characters: &[char], at: usize) -> (Part, usize) {
    let rest = &characters[at..];
    match rest {
        ['/', '/', ..] => (
            Part::Comment,
            rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
        ),
        ['/', '*', ..] => (Part::Comment, block_comment(rest)),
        ['"', ..] => (Part::Literal, quoted(rest, '"')),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => (Part::Literal, quoted(rest, '\'')),
        // The `b` or `c` before a quote or an `r` stays behind as a word of code, which harms no
        // rule.
        ['r', ..] => raw_string(rest).map_or((Part::Code, 1), |length| (Part::Literal, length)),
        _ => (Part::Code, 1),
    }
}

fn block_comment(rest: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// A literal in quotes with escapes, both quotes included.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"` or `r#"…"#`; none for the raw identifier `r#name`.
fn raw_string(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return None;
    }
    let mut close = vec!['"'];
    close.resize(1 + hashes, '#');
    let body = 2 + hashes;
    let length = rest[body..]
        .windows(close.len())
        .position(|window| window == close);
    Some(length.map_or(rest.len(), |length| body + length + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let source = RustSource::new(text);
        source
            .tokens()
            .iter()
            .map(|token| token.text.to_string())
            .collect()
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        assert_eq!(words("a // unsafe\nb"), ["a", "b"]);
        assert_eq!(words("a /* x /* y */ z */ b"), ["a", "b"]);
        assert_eq!(words(r#"a "u \" v" b"#), ["a", "b"]);
        assert_eq!(words("a r#\"u \" v\"# b"), ["a", "b"]);
        assert_eq!(words("a r\"\\\" b"), ["a", "b"]);
        assert_eq!(words("f(br\"u\", b\"v\")"), ["f", "(", "b", ",", "b", ")"]);
        assert_eq!(words(r"a '\'' b '\\' c '{' d"), ["a", "b", "c", "d"]);
        assert_eq!(words("a /* never closed"), ["a"]);
        assert_eq!(words("a \"never closed"), ["a"]);
        assert_eq!(words("a r#\"never closed\""), ["a"]);
        assert_eq!(words("a \"\\"), ["a"]);
    }

    #[test]
    fn what_looks_like_a_literal_is_code() {
        assert_eq!(words("&'a str"), ["&", "'", "a", "str"]);
        assert_eq!(words("r#mod;"), ["r", "#", "mod", ";"]);
        assert_eq!(words("for r in bar"), ["for", "r", "in", "bar"]);
    }

    #[test]
    fn comments_keep_their_lines() {
        let source = RustSource::new("let s = \"// no\";\n// yes\n/* two\nlines */ x\n");
        let comments: Vec<&str> = source.comments.iter().map(|line| line.trim()).collect();
        assert_eq!(comments, ["", "// yes", "/* two", "lines */"]);
        assert_eq!(source.tokens().last(), Some(&Token { line: 3, text: "x" }));
    }

    #[test]
    fn occurrences_do_not_depend_on_layout() {
        let source = RustSource::new("#![forbid(\n    unsafe_code)]\n#! [ forbid(unsafe_code) ]\n");
        assert_eq!(source.occurrences("# ! [ forbid ( unsafe_code ) ]"), [0, 2]);
        assert_eq!(source.occurrences("unsafe"), [0usize; 0]);
    }
}
