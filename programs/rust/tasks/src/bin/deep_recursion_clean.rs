//! Fibonacci by `join`: some thousand tasks, a deep tree, results returned through the joins. Nothing is shared.

//@ verdict: certified
//@ fin: rust/fin/deep_recursion_clean.fin

fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (last, one_before) = rayon::join(|| fibonacci(n - 1), || fibonacci(n - 2));
    last + one_before
}

fn main() {
    let result = fibonacci(16);
    assert_eq!(result, 987);
    println!("fibonacci(16) = {result}");
}
