//! A grey image, one byte a pixel, smoothed some times: each pixel becomes the mean of the nine around it.

//@ verdict: certified

use rayon::prelude::*;

fn blur(from: &[u8], to: &mut [u8], width: usize) {
    let height = from.len() / width;
    to.par_chunks_mut(width)
        .enumerate()
        .for_each(|(row, line)| {
            if row == 0 || row + 1 == height {
                line.copy_from_slice(&from[row * width..][..width]);
                return;
            }
            for column in 1..width - 1 {
                let mut sum = 0;
                for above in row - 1..=row + 1 {
                    for beside in column - 1..=column + 1 {
                        sum += u32::from(from[above * width + beside]);
                    }
                }
                line[column] = (sum / 9) as u8;
            }
        });
}

fn main() {
    let width = speed::size(32);
    let mut image: Vec<u8> = speed::random(1)
        .map(|number| number as u8)
        .take(width * width)
        .collect();
    let mut next = vec![0; image.len()];
    for _ in 0..4 {
        blur(&image, &mut next, width);
        std::mem::swap(&mut image, &mut next);
    }
    let sum: u64 = image.iter().map(|&pixel| u64::from(pixel)).sum();
    println!("the pixels add up to {sum}");
}
