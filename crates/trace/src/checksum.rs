//! CRC-32, the checksum of Ethernet, gzip and PNG: the polynomial 0x04c11db7, reflected, with all
//! bits inverted before and after. It finds every error in up to 32 consecutive bits.

const TABLES: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut index = 0;
    while index < 256 {
        let mut sum = index as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 {
                sum >> 1 ^ 0xedb8_8320
            } else {
                sum >> 1
            };
            bit += 1;
        }
        tables[0][index] = sum;
        index += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut index = 0;
        while index < 256 {
            let before: u32 = tables[table - 1][index];
            tables[table][index] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            index += 1;
        }
        table += 1;
    }
    tables
};

/// The checksum of some parts, one behind the other.
pub fn checksum(parts: &[&[u8]]) -> u32 {
    let mut sum = u32::MAX;
    for part in parts {
        let mut words = part.chunks_exact(8);
        for word in &mut words {
            // Eight bytes at once: table k has what a byte with k bytes behind it adds.
            let mut next = 0;
            for (place, byte) in word.iter().enumerate() {
                let byte = match place {
                    0..4 => *byte ^ (sum >> (8 * place)) as u8,
                    _ => *byte,
                };
                next ^= TABLES[7 - place][usize::from(byte)];
            }
            sum = next;
        }
        for byte in words.remainder() {
            sum = sum >> 8 ^ TABLES[0][usize::from(sum as u8 ^ byte)];
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(checksum(&[b"123456789"]), 0xcbf4_3926);
        assert_eq!(checksum(&[b"1234", b"", b"56789"]), 0xcbf4_3926);
        assert_eq!(
            checksum(&[b"The quick brown fox jumps over the lazy dog"]),
            0x414f_a339
        );
        assert_eq!(checksum(&[]), 0);
    }
}
