//! `matmul.fin` in Rust, for a comparison with ThreadSanitizer [DRDP 5.7]. A future is a thread.
//!
//! The arguments are the number of rows and the size of the base case. Prints the line that the
//! program in Fin prints, and then the seconds and the bytes of memory that the run took.

use std::time::Instant;

#[derive(Clone, Copy)]
struct Matrix {
    elements: *mut f64,
    n: usize,
}

// SAFETY: threads write disjoint quarters, and read what no thread writes.
unsafe impl Send for Matrix {}
unsafe impl Sync for Matrix {}

impl Matrix {
    fn new(n: usize, element: impl FnMut(usize) -> f64) -> Matrix {
        let elements: Vec<f64> = (0..n * n).map(element).collect();
        let elements = Box::leak(elements.into_boxed_slice()).as_mut_ptr();
        Matrix { elements, n }
    }

    fn row(self, row: usize, column: usize) -> *mut f64 {
        self.elements.wrapping_add(row * self.n + column)
    }

    fn times(self, vector: &[f64]) -> Vec<f64> {
        let product = |row| -> f64 {
            // SAFETY: inside the matrix, and nobody writes it now.
            let element =
                |(column, factor): (usize, &f64)| unsafe { *self.row(row, column) * factor };
            vector.iter().enumerate().map(element).sum()
        };
        (0..self.n).map(product).collect()
    }
}

#[derive(Clone, Copy)]
struct Task {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    row: usize,
    column: usize,
    inner: usize,
    size: usize,
    base: usize,
}

/// Adds the product of two blocks to a block. Returns the number of multiplications.
fn add_product(task: Task) -> usize {
    let Task {
        row,
        column,
        inner,
        size,
        base,
        ..
    } = task;
    if size <= base {
        multiply_rows(task);
        return size * size * size;
    }
    let half = size / 2;
    let mut count = 0;
    for round in 0..2 {
        let inner = inner + round * half;
        let quarter = |row, column| Task {
            row,
            column,
            inner,
            size: half,
            ..task
        };
        let futures = [(row, column), (row, column + half), (row + half, column)];
        count += std::thread::scope(|scope| {
            let futures =
                futures.map(|(row, column)| scope.spawn(move || add_product(quarter(row, column))));
            let own = add_product(quarter(row + half, column + half));
            own + futures
                .into_iter()
                .map(|future| future.join().unwrap())
                .sum::<usize>()
        });
    }
    count
}

fn multiply_rows(
    Task {
        a,
        b,
        c,
        row,
        column,
        inner,
        size,
        ..
    }: Task,
) {
    for i in row..row + size {
        for k in inner..inner + size {
            // SAFETY: inside the matrices; only this task writes this part of `c` now.
            unsafe {
                let factor = *a.row(i, k);
                let (to, from) = (c.row(i, column), b.row(k, column));
                for j in 0..size {
                    *to.add(j) += factor * *from.add(j);
                }
            }
        }
    }
}

/// The linear congruential generator of 48 bits that drand48 and Java share.
struct Random(u64);

impl Random {
    fn bits(&mut self, bits: u32) -> u64 {
        self.0 = (self.0 * 0x5_deec_e66d + 0xb) & 0xffff_ffff_ffff;
        self.0 >> (48 - bits)
    }
}

/// A line of the status of this process, in bytes.
fn status(label: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(label));
    let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

fn main() {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    let [n, base] = arguments[..] else {
        panic!("the rows and the base case are needed")
    };
    let resident = status("VmRSS:");
    let start = Instant::now();
    let mut random = Random(1);
    let mut small = |_| random.bits(4) as f64 - 8.0;
    let (a, b) = (Matrix::new(n, &mut small), Matrix::new(n, &mut small));
    let c = Matrix::new(n, |_| 0.0);
    let whole = Task {
        a,
        b,
        c,
        row: 0,
        column: 0,
        inner: 0,
        size: n,
        base,
    };
    let multiplications = add_product(whole);
    let r: Vec<f64> = (0..n).map(|_| random.bits(16) as f64).collect();
    assert_eq!(c.times(&r), a.times(&b.times(&r)));
    println!("matmul {n} of {multiplications} multiplications");
    let seconds = start.elapsed().as_secs_f64();
    println!("{seconds} {}", status("VmHWM:").saturating_sub(resident));
}
