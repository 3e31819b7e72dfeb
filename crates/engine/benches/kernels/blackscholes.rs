//! A portfolio of European options, priced by the formula of Black and Scholes.

use rayon::prelude::*;

const OPTIONS: usize = 65_536;
const RUNS: usize = 100;
const BLOCK: usize = 1024;
/// One of so many prices is integrated. An odd number takes calls and puts.
const EVERY: usize = (OPTIONS / 16) | 1;
const INVERSE_SQRT_2_PI: f64 = 0.398_942_280_401_432_7;

/// An option. Calls are even, puts are odd.
#[derive(Clone, Copy)]
struct Terms {
    spot: f64,
    strike: f64,
    rate: f64,
    volatility: f64,
    time: f64,
    put: bool,
}

pub(super) fn run() -> String {
    let terms = random_portfolio();
    let reference: Vec<f64> = terms.iter().map(|terms| reference_price(*terms)).collect();
    let mut prices = vec![0.0; OPTIONS];
    let mut largest_error = 0.0;
    for _ in 0..RUNS {
        let blocks = terms.par_chunks(BLOCK).zip(reference.par_chunks(BLOCK));
        let blocks = blocks.zip(prices.par_chunks_mut(BLOCK)).with_max_len(1);
        let off: Vec<f64> = blocks
            .map(|((terms, reference), prices)| price_block(terms, reference, prices))
            .collect();
        largest_error = off.into_iter().fold(largest_error, f64::max);
    }
    assert!(largest_error < 1e-4);
    validate(&terms, &prices);
    let total: f64 = prices.iter().sum();
    format!(
        "blackscholes {OPTIONS} total in cents {}",
        (100.0 * total + 0.5) as i64
    )
}

fn price_block(terms: &[Terms], reference: &[f64], prices: &mut [f64]) -> f64 {
    let mut worst = 0.0;
    for ((terms, reference), place) in terms.iter().zip(reference).zip(prices) {
        *place = black_scholes(*terms);
        worst = f64::max(worst, f64::abs(*place - reference));
    }
    worst
}

fn black_scholes(terms: Terms) -> f64 {
    let Terms {
        spot,
        strike,
        rate,
        volatility,
        time,
        put,
    } = terms;
    let deviation = volatility * time.sqrt();
    let d1 = ((spot / strike).ln() + (rate + 0.5 * volatility * volatility) * time) / deviation;
    let [n1, n2] = [d1, d1 - deviation].map(normal_by_polynomial);
    let present_strike = strike * f64::exp(-rate * time);
    match put {
        true => present_strike * (1.0 - n2) - spot * (1.0 - n1),
        false => spot * n1 - present_strike * n2,
    }
}

fn normal_by_polynomial(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 5] = [
        1.330_274_429,
        -1.821_255_978,
        1.781_477_937,
        -0.356_563_782,
        0.319_381_530,
    ];
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let polynomial = COEFFICIENTS
        .into_iter()
        .fold(0.0, |sum, next| next + k * sum)
        * k;
    let above = f64::exp(-0.5 * x * x) * INVERSE_SQRT_2_PI * polynomial;
    if x < 0.0 { above } else { 1.0 - above }
}

fn random_portfolio() -> Vec<Terms> {
    let mut state: i64 = 1973;
    let mut between = |least: i64, most: i64| {
        state = state.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
        (least + (state >> 20) % (most - least + 1)) as f64
    };
    let pairs = (0..OPTIONS / 2).flat_map(|_| {
        let call = Terms {
            spot: between(160, 480) / 4.0,
            strike: between(40, 120),
            rate: between(2, 10) / 100.0,
            volatility: between(10, 65) / 100.0,
            time: between(1, 20) / 10.0,
            put: false,
        };
        [call, Terms { put: true, ..call }]
    });
    pairs.collect()
}

fn reference_price(terms: Terms) -> f64 {
    let Terms {
        spot,
        strike,
        rate,
        volatility,
        time,
        put,
    } = terms;
    let sign = if put { -1.0 } else { 1.0 };
    let variance = volatility * volatility * time;
    let moneyness = spot.ln() - strike.ln() + rate * time;
    let [n1, n2] = [0.5, -0.5]
        .map(|half| normal_by_series(sign * (moneyness + half * variance) / variance.sqrt()));
    sign * (spot * n1 - strike * f64::exp(-rate * time) * n2)
}

fn normal_by_series(x: f64) -> f64 {
    if x.abs() > 9.0 {
        return if x < 0.0 { 0.0 } else { 1.0 };
    }
    let (mut term, mut sum, mut before, mut i) = (x, x, 0.0, 3.0);
    while sum != before {
        before = sum;
        term *= x * x / i;
        sum += term;
        i += 2.0;
    }
    0.5 + sum * f64::exp(-0.5 * x * x) * INVERSE_SQRT_2_PI
}

fn validate(terms: &[Terms], prices: &[f64]) {
    for (terms, prices) in terms.chunks(2).zip(prices.chunks(2)) {
        let Terms {
            spot,
            strike,
            rate,
            time,
            ..
        } = terms[0];
        let parity = spot - strike * f64::exp(-rate * time);
        assert!(f64::abs(prices[0] - prices[1] - parity) < 1e-10);
    }
    for i in (0..OPTIONS).step_by(EVERY) {
        assert!(f64::abs(prices[i] - integrated_price(terms[i])) < 1e-4);
    }
}

fn integrated_price(terms: Terms) -> f64 {
    let Terms {
        spot,
        strike,
        rate,
        volatility,
        time,
        put,
    } = terms;
    let deviation = volatility * time.sqrt();
    let drift = (rate - 0.5 * volatility * volatility) * time;
    let no_gain = ((strike / spot).ln() - drift) / deviation;
    let (from, to) = match put {
        true => (f64::min(-12.0, no_gain - 1.0), no_gain),
        false => (no_gain, f64::max(12.0, no_gain + 1.0)),
    };
    let steps = 2000;
    let width = (to - from) / f64::from(steps);
    let weighted = (0..=steps).map(|s| {
        let z = from + width * f64::from(s);
        let pays = f64::abs(spot * f64::exp(drift + deviation * z) - strike);
        let weight = match s {
            s if s == 0 || s == steps => 1.0,
            s if s % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * pays * f64::exp(-0.5 * z * z) * INVERSE_SQRT_2_PI
    });
    f64::exp(-rate * time) * weighted.sum::<f64>() * width / 3.0
}
