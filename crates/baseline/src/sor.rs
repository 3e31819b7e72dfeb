//! Red-black successive over-relaxation; see `programs/esp-bags/sor.fin`.

use crate::Size;
use crate::random::Random;

const OMEGA: f64 = 1.25;

fn order(size: Size) -> usize {
    match size {
        Size::Small => 6,
        Size::A => 1000,
        Size::B => 1500,
        Size::C => 2000,
    }
}

fn iterations(size: Size) -> usize {
    if size == Size::Small { 4 } else { 100 }
}

pub fn run(size: Size) -> String {
    let n = order(size);
    let phases = 2 * iterations(size);
    let mut grid = random_grid(n);

    for phase in 0..phases {
        for i in (1 + phase % 2..n).step_by(2) {
            if i < n - 1 {
                relax(&mut grid, i, 1);
            }
            if i > 1 {
                relax(&mut grid, i - 1, 2);
            }
        }
    }

    let mut total = 0.0;
    for row in &grid[1..n - 1] {
        for point in &row[1..n - 1] {
            total += point;
        }
    }
    validate(size, phases, &grid, total);
    format!("sor {n} total {total:?}")
}

/// Moves every second inner point of a row, from column `first` on, towards and past the mean of
/// its neighbours.
fn relax(grid: &mut [Vec<f64>], i: usize, first: usize) {
    const PULL: f64 = OMEGA * 0.25;
    const KEEP: f64 = 1.0 - OMEGA;
    let [above, row, below] = &mut grid[i - 1..=i + 1] else {
        unreachable!("an inner row has two neighbours")
    };
    let n = row.len();
    let (above, below) = (&above[..n], &below[..n]);
    for j in (first..n - 1).step_by(2) {
        row[j] = PULL * (above[j] + below[j] + row[j - 1] + row[j + 1]) + KEEP * row[j];
    }
}

fn random_grid(n: usize) -> Vec<Vec<f64>> {
    let mut random = Random::from_seed(10_101_010);
    let mut row = || (0..n).map(|_| random.float() * 1e-6).collect();
    (0..n).map(|_| row()).collect()
}

fn validate(size: Size, phases: usize, grid: &[Vec<f64>], total: f64) {
    let published = match size {
        Size::Small => return assert_eq!(grid, serial(grid.len(), phases)),
        Size::A => 0.498574406322512,
        Size::B => 1.1234778980135105,
        Size::C => 1.9954895063582696,
    };
    assert!(
        (total - published).abs() <= 1e-12,
        "the sum of the inner points is {total} and not {published}"
    );
}

/// Red-black over-relaxation by its definition, on the same grid: colour by colour, in any order
/// within a colour.
fn serial(n: usize, phases: usize) -> Vec<Vec<f64>> {
    let mut grid = random_grid(n);
    for phase in 0..phases {
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                if (i + j) % 2 == phase % 2 {
                    let neighbours =
                        grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1];
                    grid[i][j] = OMEGA * 0.25 * neighbours + (1.0 - OMEGA) * grid[i][j];
                }
            }
        }
    }
    grid
}
