//! What else tasks use now and then.

use rayon::prelude::*;
use std::sync::Arc;

#[test]
fn progress() {
    use indicatif::ParallelProgressIterator;
    let sum: u64 = (0..100u64)
        .into_par_iter()
        .progress_count(100)
        .map(|i| i)
        .sum();
    assert_eq!(sum, 4950);
}

#[test]
fn logged() {
    let _ = env_logger::builder()
        .is_test(true)
        .filter_level(log::LevelFilter::Info)
        .try_init();
    (0..20).into_par_iter().for_each(|i| log::info!("item {i}"));
}

#[test]
fn printed() {
    (0..20).into_par_iter().for_each(|i| println!("item {i}"));
}

#[test]
fn json() {
    let n: usize = (0..50)
        .into_par_iter()
        .map(|i| serde_json::from_str::<serde_json::Value>(&format!("{{\"a\":[{i}]}}")).unwrap())
        .map(|v| v["a"].as_array().unwrap().len())
        .sum();
    assert_eq!(n, 50);
}

#[test]
fn counted() {
    let shared = triomphe::Arc::new(vec![1u64]);
    let list: im::Vector<u64> = (0..1000).collect();
    let std_shared = Arc::new(vec![1u64]);
    let sum: u64 = (0..50u64)
        .into_par_iter()
        .map(|i| {
            let a = shared.clone();
            let b = std_shared.clone();
            let mut l = list.clone();
            l.push_back(i);
            a[0] + b[0] + l.len() as u64
        })
        .sum();
    assert_eq!(sum, 50 * 1003);
}

#[test]
fn arrays() {
    use ndarray::parallel::prelude::*;
    let mut a = ndarray::Array2::<f64>::zeros((20, 20));
    a.par_mapv_inplace(|x| x + 1.0);
    a.axis_iter_mut(ndarray::Axis(0))
        .into_par_iter()
        .for_each(|mut row| row.fill(2.0));
    ndarray::Zip::from(&mut a).par_for_each(|x| *x += 1.0);
    assert_eq!(a.sum(), 1200.0);
}
