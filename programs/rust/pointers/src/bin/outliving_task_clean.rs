//! The repair of `outliving_task_racy`: a `scope` returns only when its tasks are done, so they may borrow the caller's data.

//@ verdict: certified
//@ fin: lessons/task_outlives_call_clean.fin

use std::hint::black_box;

fn fill(numbers: &mut [u64]) {
    rayon::scope(|scope| {
        scope.spawn(|_| {
            for number in numbers {
                *number = black_box(7);
            }
        });
    });
}

fn main() {
    let mut numbers = vec![0; 100];
    fill(&mut numbers);
    numbers[0] = black_box(1);
    assert_eq!(numbers.iter().sum::<u64>(), 1 + 99 * 7);
    println!("filled");
}
