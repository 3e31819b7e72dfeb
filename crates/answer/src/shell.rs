//! Words of a command, quoted so that a shell reads them back and a terminal is not driven by them.

/// A word as a shell reads it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else if word.chars().any(is_invisible) {
        // The only quoting in which such a character can be written so that it does not reach the
        // terminal as it is.
        let mut quoted = String::from("$'");
        for c in word.chars() {
            match c {
                '\'' | '\\' => quoted.extend(['\\', c]),
                c if is_invisible(c) => {
                    let mut bytes = [0; 4];
                    let bytes = c.encode_utf8(&mut bytes).bytes();
                    quoted.extend(bytes.map(|byte| format!("\\x{byte:02x}")));
                }
                c => quoted.push(c),
            }
        }
        quoted + "'"
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A character that a report shows escaped.
fn is_invisible(c: char) -> bool {
    !matches!(c, '\\' | '\'' | '"') && c.escape_debug().len() > 1
}
