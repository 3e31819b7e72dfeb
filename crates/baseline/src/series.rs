//! Fourier coefficients of (x + 1)^x on the interval from 0 to 2; see
//! `programs/esp-bags/series.fin`.

use crate::Size;
use std::f64::consts::PI;

const STEPS: usize = 1000;

fn pairs(size: Size) -> usize {
    match size {
        Size::Small => 8,
        Size::A => 10_000,
        Size::B => 100_000,
        Size::C => 1_000_000,
    }
}

pub fn run(size: Size) -> String {
    let n = pairs(size);
    let mut a = vec![0.0; n];
    let mut b = vec![0.0; n];

    a[0] = integral(Factor::Constant, 0.0) / 2.0;
    for (i, (a, b)) in a.iter_mut().zip(&mut b).enumerate().skip(1) {
        let frequency = PI * i as f64;
        *a = integral(Factor::Cosine, frequency);
        *b = integral(Factor::Sine, frequency);
    }

    check_published(&a, &b);
    if n >= STEPS {
        check_parseval(&a, &b);
        check_aliases(&a, &b);
    }
    format!("series {n} last {:?} {:?}", a[n - 1], b[n - 1])
}

/// The factor of (x + 1)^x under the integral.
#[derive(Clone, Copy)]
enum Factor {
    Constant,
    Cosine,
    Sine,
}

/// The trapezoid rule, without the last inner point as in Java Grande.
fn integral(factor: Factor, frequency: f64) -> f64 {
    let width = 2.0 / STEPS as f64;
    let mut sum = integrand(factor, frequency, 0.0) / 2.0;
    let mut x = 0.0;
    for _ in 1..STEPS - 1 {
        x += width;
        sum += integrand(factor, frequency, x);
    }
    (sum + integrand(factor, frequency, 2.0) / 2.0) * width
}

fn integrand(factor: Factor, frequency: f64, x: f64) -> f64 {
    let power = (x + 1.0).powf(x);
    match factor {
        Factor::Constant => power,
        Factor::Cosine => power * (frequency * x).cos(),
        Factor::Sine => power * (frequency * x).sin(),
    }
}

/// The first four pairs, as Java Grande publishes them.
fn check_published(a: &[f64], b: &[f64]) {
    let published = [
        (2.8729524964837996, 0.0),
        (1.1161046676147888, -1.8819691893398025),
        (0.34429060398168704, -1.1645642623320958),
        (0.15238898702519288, -0.8143461113044298),
    ];
    for ((a, b), (expected_a, expected_b)) in a.iter().zip(b).zip(published) {
        check(*a, expected_a, 1e-12);
        check(*b, expected_b, 1e-12);
    }
}

/// By Parseval's theorem the squares of all distinct pairs sum up to those of the integrated
/// values, up to a factor. The two ends are one point of the period and have the mean of their
/// values.
fn check_parseval(a: &[f64], b: &[f64]) {
    let width = 2.0 / STEPS as f64;
    let value = |x| integrand(Factor::Constant, 0.0, x);
    let ends: f64 = (value(0.0) + value(2.0)) / 2.0;
    let mut values = ends * ends;
    for k in 1..STEPS - 1 {
        let value = value(k as f64 * width);
        values += value * value;
    }
    let mut coefficients = 4.0 * a[0] * a[0];
    for (a, b) in a.iter().zip(b).take(STEPS).skip(1) {
        coefficients += a * a + b * b;
    }
    check(coefficients, values * width * 2.0, 1e-9);
}

/// A sine whose frequency is higher by 1000 has the same values at the points of integration. These
/// points are rounded, and the error grows with the frequency.
fn check_aliases(a: &[f64], b: &[f64]) {
    for i in STEPS..a.len() {
        let first = i % STEPS;
        let rounding = 1e-12 * i as f64;
        let expected_a = if first == 0 { 2.0 * a[0] } else { a[first] };
        check(a[i], expected_a, rounding);
        check(b[i], b[first], rounding);
    }
}

fn check(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "found {found} instead of {expected}"
    );
}
