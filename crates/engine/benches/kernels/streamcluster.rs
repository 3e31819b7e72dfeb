//! Clusters a stream of points in chunks, by local search for a number of centres.

use rayon::prelude::*;

const POINTS: usize = 32_768;
const CHUNK: usize = 8192;
const DIMENSIONS: usize = 32;
const LEAST: usize = 10;
const MOST: usize = 20;
const PLACES: usize = 10;
const BLOCK: usize = 512;
const ITERATIONS: f64 = 3.0;
const STREAM_SEED: i64 = 2008;

/// A point, with its centre and the weighted squared distance to it.
#[derive(Clone, Default)]
struct Point {
    at: Vec<f64>,
    weight: f64,
    centre: usize,
    cost: f64,
    /// It would change to the point that is tried.
    switches: bool,
}

/// What the points of a block would cost more, and those of each centre less.
#[derive(Clone, Default)]
struct View {
    opening: f64,
    closing: Vec<f64>,
}

struct Points {
    all: Vec<Point>,
    centres: Vec<usize>,
    /// The index of a centre in their list.
    number: Vec<usize>,
    views: Vec<View>,
}

impl Points {
    fn new(all: Vec<Point>) -> Points {
        let (count, blocks) = (all.len(), all.len().div_ceil(BLOCK));
        let view = View {
            opening: 0.0,
            closing: vec![0.0; count],
        };
        Points {
            all,
            centres: Vec::new(),
            number: vec![0; count],
            views: vec![view; blocks],
        }
    }

    fn add_centre(&mut self, point: usize) {
        self.number[point] = self.centres.len();
        self.centres.push(point);
    }
}

pub(super) fn run() -> String {
    let mut random = Random(2012);
    let places: Vec<Vec<f64>> = (0..PLACES)
        .map(|_| (0..DIMENSIONS).map(|_| random.float()).collect())
        .collect();
    let mut stream = Random(STREAM_SEED);
    let mut chosen = Vec::new();
    for _ in 0..POINTS / CHUNK {
        let mut points = Points::new(read_stream(&places, &mut stream).0);
        search(&mut points, &mut random);
        chosen.extend(centres_of(&points));
    }
    let mut chosen = Points::new(chosen);
    search(&mut chosen, &mut random);
    let result = centres_of(&chosen);
    let quality = validate(&result, &places);
    format!(
        "streamcluster {POINTS} points {} centres, cost in percent {}",
        result.len(),
        (100.0 * quality + 0.5) as i64
    )
}

fn search(points: &mut Points, random: &mut Random) {
    let origin = points.all[0].at.clone();
    let (mut low, mut high) = (0.0, 0.0);
    for point in &points.all {
        high += weighted_distance(point, &origin);
    }
    let mut facility = 0.5 * high;
    first_centres(points, facility, random);
    while points.centres.len() < LEAST {
        high = facility;
        facility = 0.5 * (low + high);
        first_centres(points, facility, random);
    }
    let mut candidates = random_candidates(points, count_for(LEAST), random);
    let tries = count_for(MOST);
    let mut cost = total_cost(points, facility);
    loop {
        cost = improve(points, &mut candidates, facility, cost, tries, 0.1, random);
        if (LEAST - 2..=MOST + 2).contains(&points.centres.len()) {
            cost = improve(
                points,
                &mut candidates,
                facility,
                cost,
                tries,
                0.001,
                random,
            );
        }
        let before = facility;
        if points.centres.len() > MOST {
            low = facility;
        } else if points.centres.len() < LEAST {
            high = facility;
        } else {
            break;
        }
        facility = 0.5 * (low + high);
        cost += (facility - before) * points.centres.len() as f64;
        assert!(low < 0.999 * high);
    }
    validate_search(points, facility, cost);
}

fn count_for(centres: usize) -> usize {
    (ITERATIONS * centres as f64 * (centres as f64).ln()) as usize
}

fn first_centres(points: &mut Points, facility: f64, random: &mut Random) {
    serve(&mut points.all, 0, |_, _| true);
    points.centres.clear();
    points.add_centre(0);
    for x in 1..points.all.len() {
        if random.float() < points.all[x].cost / facility {
            serve(&mut points.all, x, |cost, before| cost < before);
            points.add_centre(x);
        }
    }
}

/// Gives the points to x for which that is better than what they have.
fn serve(all: &mut [Point], x: usize, is_better: impl Fn(f64, f64) -> bool + Sync) {
    let at = all[x].at.clone();
    for_blocks(all, |points| {
        for point in points {
            let cost = weighted_distance(point, &at);
            if is_better(cost, point.cost) {
                (point.centre, point.cost) = (x, cost);
            }
        }
    });
}

fn for_blocks(all: &mut [Point], does: impl Fn(&mut [Point]) + Sync + Send) {
    all.par_chunks_mut(BLOCK).with_max_len(1).for_each(does);
}

fn random_candidates(points: &Points, count: usize, random: &mut Random) -> Vec<usize> {
    let mut sum = 0.0;
    let up_to: Vec<f64> = points
        .all
        .iter()
        .map(|point| {
            sum += point.weight;
            sum
        })
        .collect();
    let draw = |_| {
        let drawn = random.float() * sum;
        let first = up_to.partition_point(|up_to| *up_to <= drawn);
        first.min(up_to.len() - 1)
    };
    (0..count).map(draw).collect()
}

fn improve(
    points: &mut Points,
    candidates: &mut [usize],
    facility: f64,
    before: f64,
    tries: usize,
    enough: f64,
    random: &mut Random,
) -> f64 {
    let (mut cost, mut gain) = (before, before);
    while gain > enough * cost {
        gain = 0.0;
        for i in 0..candidates.len() {
            let j = i + random.bits(31) as usize % (candidates.len() - i);
            candidates.swap(i, j);
        }
        for t in 0..tries {
            gain += try_centre(points, candidates[t % candidates.len()], facility);
        }
        cost -= gain;
    }
    cost
}

fn try_centre(points: &mut Points, x: usize, facility: f64) -> f64 {
    let Points {
        all,
        centres,
        number,
        views,
    } = points;
    let at = all[x].at.clone();
    let blocks = all.par_chunks_mut(BLOCK).zip(&mut *views).with_max_len(1);
    blocks.for_each(|(points, view)| measure(points, &at, number, centres.len(), view));
    let mut gain = -facility;
    for view in &*views {
        gain -= view.opening;
    }
    let mut closes = Vec::new();
    for c in 0..centres.len() {
        let mut saved = facility;
        for view in &*views {
            saved += view.closing[c];
        }
        closes.push(saved > 0.0);
        if saved > 0.0 {
            gain += saved;
        }
    }
    if gain <= 0.0 {
        return 0.0;
    }
    for_blocks(all, |points| {
        for point in points {
            if point.switches || closes[number[point.centre]] {
                (point.centre, point.cost) = (x, weighted_distance(point, &at));
            }
        }
    });
    let old = std::mem::take(centres);
    for (centre, _) in old.into_iter().zip(closes).filter(|(_, closes)| !closes) {
        points.add_centre(centre);
    }
    points.add_centre(x);
    gain
}

fn measure(points: &mut [Point], at: &[f64], number: &[usize], centres: usize, view: &mut View) {
    view.closing[..centres].fill(0.0);
    view.opening = 0.0;
    for point in points {
        let more = weighted_distance(point, at) - point.cost;
        point.switches = more < 0.0;
        if more < 0.0 {
            view.opening += more;
        } else {
            view.closing[number[point.centre]] -= more;
        }
    }
}

fn weighted_distance(point: &Point, at: &[f64]) -> f64 {
    point.weight * squared_distance(&point.at, at)
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b))
}

fn total_cost(points: &Points, facility: f64) -> f64 {
    let centres = points.centres.len() as f64 * facility;
    points
        .all
        .iter()
        .fold(centres, |cost, point| cost + point.cost)
}

/// The centres, with the weight and at the mean of their clusters.
fn centres_of(points: &Points) -> Vec<Point> {
    let nothing = Point {
        at: vec![0.0; DIMENSIONS],
        ..Point::default()
    };
    let mut means = vec![nothing; points.centres.len()];
    for point in &points.all {
        let mean = &mut means[points.number[point.centre]];
        mean.weight += point.weight;
        for (sum, at) in mean.at.iter_mut().zip(&point.at) {
            *sum += point.weight * at;
        }
    }
    for mean in &mut means {
        for at in &mut mean.at {
            *at /= mean.weight;
        }
    }
    means
}

/// The next chunk of the stream, and the sum of its points' squared distances to their places.
fn read_stream(places: &[Vec<f64>], stream: &mut Random) -> (Vec<Point>, f64) {
    let mut sum = 0.0;
    let point = |_| {
        let place = &places[stream.bits(31) as usize % places.len()];
        let near = |at: &f64| at + 0.1 * (stream.float() + stream.float() - 1.0);
        let at: Vec<f64> = place.iter().map(near).collect();
        sum += squared_distance(&at, place);
        Point {
            at,
            weight: 1.0,
            ..Point::default()
        }
    };
    let points = (0..CHUNK).map(point).collect();
    (points, sum)
}

fn validate_search(points: &Points, facility: f64, cost: f64) {
    for (number, &centre) in points.centres.iter().enumerate() {
        assert!(points.all[centre].centre == centre && points.number[centre] == number);
    }
    for point in &points.all {
        assert_eq!(points.centres[points.number[point.centre]], point.centre);
        let at = &points.all[point.centre].at;
        assert_eq!(point.cost, weighted_distance(point, at));
    }
    let expected = total_cost(points, facility);
    assert!((cost - expected).abs() <= 1e-9 * expected);
}

/// The cost as a multiple of that of the places.
fn validate(result: &[Point], places: &[Vec<f64>]) -> f64 {
    let weight: f64 = result.iter().map(|centre| centre.weight).sum();
    assert_eq!(weight, POINTS as f64);
    let mut stream = Random(STREAM_SEED);
    let (mut expected, mut cost) = (0.0, 0.0);
    for _ in 0..POINTS / CHUNK {
        let (points, sum) = read_stream(places, &mut stream);
        expected += sum;
        for point in &points {
            let distances = result.iter();
            let distances = distances.map(|centre| squared_distance(&point.at, &centre.at));
            cost += distances.fold(f64::INFINITY, f64::min);
        }
    }
    assert!(cost < 1.1 * expected);
    cost / expected
}

struct Random(i64);

impl Random {
    fn bits(&mut self, bits: u32) -> i64 {
        self.0 = self.0.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
        self.0 >> (48 - bits)
    }

    fn float(&mut self) -> f64 {
        self.bits(31) as f64 / 2_147_483_648.0
    }
}
