//! The product of two polynomials by Karatsuba's three products of half the length.

const COEFFICIENTS: usize = 90_000;
const SPAWN_FROM: usize = 1000;
const CUT_FROM: usize = 48;
const PRIME: i64 = 2_147_483_647;

pub(super) fn run() -> String {
    let n = COEFFICIENTS;
    let [a, b] = [0, 1].map(|odd| -> Vec<i64> {
        let random = |i| random_bits(2 * i + odd, 16) - 32768;
        (0..n as i64).map(random).collect()
    });
    let mut c = vec![0; 2 * n - 1];
    multiply(&a, &b, &mut c);
    validate_values(&a, &b, &c);
    validate_coefficients(&a, &b, &c);
    format!("karatsuba {n} middle coefficient {}", c[n - 1])
}

fn multiply(a: &[i64], b: &[i64], c: &mut [i64]) {
    let n = a.len();
    if n < CUT_FROM {
        return multiply_plainly(a, b, c);
    }
    let low = n / 2;
    let high = n - low;
    let (a_low, a_high) = a.split_at(low);
    let (b_low, b_high) = b.split_at(low);
    let (a_sum, b_sum) = (sum_of_parts(a_low, a_high), sum_of_parts(b_low, b_high));
    let mut middle = vec![0; 2 * high - 1];
    let (c_low, c_high) = c.split_at_mut(2 * low);
    let c_low = &mut c_low[..2 * low - 1];
    if n < SPAWN_FROM {
        multiply(a_low, b_low, c_low);
        multiply(a_high, b_high, c_high);
        multiply(&a_sum, &b_sum, &mut middle);
    } else {
        rayon::join(
            || multiply(a_low, b_low, c_low),
            || {
                rayon::join(
                    || multiply(a_high, b_high, c_high),
                    || multiply(&a_sum, &b_sum, &mut middle),
                )
            },
        );
    }
    for (place, less) in middle.iter_mut().zip(&c[..2 * low - 1]) {
        *place -= less;
    }
    for (place, less) in middle.iter_mut().zip(&c[2 * low..]) {
        *place -= less;
    }
    c[2 * low - 1] = 0;
    for (place, more) in c[low..].iter_mut().zip(&middle) {
        *place += more;
    }
}

fn multiply_plainly(a: &[i64], b: &[i64], c: &mut [i64]) {
    c.fill(0);
    for (i, factor) in a.iter().enumerate() {
        for (place, other) in c[i..].iter_mut().zip(b) {
            *place += factor * other;
        }
    }
}

fn sum_of_parts(low: &[i64], high: &[i64]) -> Vec<i64> {
    let mut sum = high.to_vec();
    for (place, more) in sum.iter_mut().zip(low) {
        *place += more;
    }
    sum
}

fn validate_values(a: &[i64], b: &[i64], c: &[i64]) {
    for round in 0..3 {
        let x = random_bits(-1 - round, 30);
        assert_eq!(value_at(c, x), value_at(a, x) * value_at(b, x) % PRIME);
    }
}

fn value_at(polynomial: &[i64], x: i64) -> i64 {
    let coefficients = polynomial.iter().rev();
    let value = coefficients.fold(0, |value, next| (value * x + next % PRIME) % PRIME);
    if value < 0 { value + PRIME } else { value }
}

fn validate_coefficients(a: &[i64], b: &[i64], c: &[i64]) {
    let n = a.len();
    for k in (0..c.len()).step_by(c.len() / 73) {
        let terms = (k.saturating_sub(n - 1)..=k.min(n - 1)).map(|i| a[i] * b[k - i]);
        assert_eq!(c[k], terms.sum::<i64>());
    }
}

fn random_bits(index: i64, bits: u32) -> i64 {
    let logical = |value: i64, by: u32| (value as u64 >> by) as i64;
    let mut mixed = (index + 1).wrapping_mul(0x1e37_79b9_7f4a_7c15);
    mixed = (mixed ^ logical(mixed, 30)).wrapping_mul(0x3f58_476d_1ce4_e5b9);
    mixed = (mixed ^ logical(mixed, 27)).wrapping_mul(0x14d0_49bb_1331_11eb);
    logical(mixed ^ logical(mixed, 31), 64 - bits)
}
