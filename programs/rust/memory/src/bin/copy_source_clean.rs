//! The repair of `copy_source_racy`: the copy is taken first, then both are changed in parallel.

//@ verdict: certified

fn main() {
    let mut queue: Vec<u32> = (0..100).collect();
    let mut copy = queue.to_vec();
    rayon::join(|| queue.copy_within(1.., 0), || copy.reverse());
    assert_eq!((queue[0], copy[0]), (1, 99));
    println!(
        "the copy starts with {}, the queue with {}",
        copy[0], queue[0]
    );
}
