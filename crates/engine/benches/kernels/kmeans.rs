//! Lloyd's algorithm for clusters of points in the plane.

use rayon::prelude::*;

const POINTS: usize = 100_000;
const CLUSTERS: usize = 32;
const BLOCK: usize = 1000;

struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    cluster: Vec<i64>,
}

struct Centres {
    x: Vec<f64>,
    y: Vec<f64>,
}

/// What a block knows of each cluster, and how many of its points are new in theirs.
struct View {
    sum_x: Vec<f64>,
    sum_y: Vec<f64>,
    count: Vec<i64>,
    changed: i64,
}

pub(super) fn run() -> String {
    let mut points = random_points();
    let mut centres = first_centres(&points);
    let mut views: Vec<View> = (0..POINTS.div_ceil(BLOCK)).map(|_| new_view()).collect();
    let (mut rounds, mut changed) = (0, 1);
    while changed > 0 {
        let Points { x, y, cluster } = &mut points;
        let blocks = x.par_chunks(BLOCK).zip(y.par_chunks(BLOCK));
        let blocks = blocks.zip(cluster.par_chunks_mut(BLOCK));
        let blocks = blocks.zip(&mut views).with_max_len(1);
        blocks.for_each(|(((x, y), cluster), view)| {
            clear(view);
            assign(x, y, cluster, &centres, view);
        });
        changed = move_centres(&views, &mut centres);
        rounds += 1;
    }
    let error = validate(&points, &centres);
    format!(
        "kmeans {POINTS} points {CLUSTERS} clusters {rounds} rounds, mean squared distance {}",
        error / POINTS as f64
    )
}

fn next_state(state: i64) -> i64 {
    state.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff
}

fn random_points() -> Points {
    let mut state = 77;
    let mut below = |limit: i64| {
        state = next_state(state);
        (state >> 20) % limit
    };
    let places: Vec<[i64; 2]> = (0..CLUSTERS)
        .map(|_| [(); 2].map(|()| 100 * 1024 + below(800 * 1024)))
        .collect();
    let mut points = Points {
        x: vec![0.0; POINTS],
        y: vec![0.0; POINTS],
        cluster: vec![-1; POINTS],
    };
    for i in 0..POINTS {
        let [mut x, mut y] = places[i % CLUSTERS];
        for _ in 0..4 {
            x += below(40 * 1024) - 20 * 1024;
            y += below(40 * 1024) - 20 * 1024;
        }
        points.x[i] = x as f64 / 1024.0;
        points.y[i] = y as f64 / 1024.0;
    }
    points
}

fn first_centres(points: &Points) -> Centres {
    let part = POINTS / CLUSTERS;
    let of = |coordinates: &[f64]| (0..CLUSTERS).map(|j| coordinates[j * part]).collect();
    Centres {
        x: of(&points.x),
        y: of(&points.y),
    }
}

fn new_view() -> View {
    View {
        sum_x: vec![0.0; CLUSTERS],
        sum_y: vec![0.0; CLUSTERS],
        count: vec![0; CLUSTERS],
        changed: 0,
    }
}

fn clear(view: &mut View) {
    view.sum_x.fill(0.0);
    view.sum_y.fill(0.0);
    view.count.fill(0);
    view.changed = 0;
}

fn assign(x: &[f64], y: &[f64], cluster: &mut [i64], centres: &Centres, view: &mut View) {
    for ((&x, &y), cluster) in x.iter().zip(y).zip(cluster) {
        let j = nearest(centres, x, y);
        if *cluster != j as i64 {
            *cluster = j as i64;
            view.changed += 1;
        }
        view.sum_x[j] += x;
        view.sum_y[j] += y;
        view.count[j] += 1;
    }
}

fn nearest(centres: &Centres, x: f64, y: f64) -> usize {
    let mut best = 0;
    let mut least = squared_distance(centres.x[0], centres.y[0], x, y);
    for j in 1..centres.x.len() {
        let distance = squared_distance(centres.x[j], centres.y[j], x, y);
        if distance < least {
            least = distance;
            best = j;
        }
    }
    best
}

fn squared_distance(x: f64, y: f64, other_x: f64, other_y: f64) -> f64 {
    let (dx, dy) = (x - other_x, y - other_y);
    dx * dx + dy * dy
}

fn move_centres(views: &[View], centres: &mut Centres) -> i64 {
    let mut total = new_view();
    for view in views {
        for j in 0..CLUSTERS {
            total.sum_x[j] += view.sum_x[j];
            total.sum_y[j] += view.sum_y[j];
            total.count[j] += view.count[j];
        }
        total.changed += view.changed;
    }
    for j in 0..CLUSTERS {
        if total.count[j] > 0 {
            centres.x[j] = total.sum_x[j] / total.count[j] as f64;
            centres.y[j] = total.sum_y[j] / total.count[j] as f64;
        }
    }
    total.changed
}

fn validate(points: &Points, centres: &Centres) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for i in 0..POINTS {
        let (x, y) = (points.x[i], points.y[i]);
        let own = points.cluster[i] as usize;
        let distance = squared_distance(x, y, centres.x[own], centres.y[own]);
        for j in 0..CLUSTERS {
            assert!(distance <= squared_distance(x, y, centres.x[j], centres.y[j]));
        }
        sum += distance;
        squares += x * x + y * y;
    }
    let all_squares = squares;
    for j in 0..CLUSTERS {
        let (mut count, mut x, mut y) = (0, 0.0, 0.0);
        for i in 0..POINTS {
            if points.cluster[i] == j as i64 {
                count += 1;
                x += points.x[i];
                y += points.y[i];
            }
        }
        let count = f64::from(count);
        assert!(centres.x[j] == x / count && centres.y[j] == y / count);
        squares -= count * (centres.x[j] * centres.x[j] + centres.y[j] * centres.y[j]);
    }
    assert!(f64::abs(squares - sum) <= 1e-10 * all_squares);
    sum
}
