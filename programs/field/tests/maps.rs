//! Maps, caches and lists that tasks share.

use rayon::prelude::*;

#[test]
fn scc_map() {
    let map = scc::HashMap::new();
    (0..200u64).into_par_iter().for_each(|i| {
        map.entry_sync(i % 20).and_modify(|v| *v += i).or_insert(i);
    });
    (0..20u64).into_par_iter().for_each(|i| {
        map.remove_sync(&i);
    });
    assert!(map.is_empty());
}

#[test]
fn scc_index() {
    let map = scc::HashIndex::new();
    (0..200u64).into_par_iter().for_each(|i| {
        let _ = map.insert_sync(i, i);
        map.peek_with(&(i / 2), |_, v| *v);
    });
    let tree = scc::TreeIndex::new();
    (0..200u64).into_par_iter().for_each(|i| {
        let _ = tree.insert_sync(i, i);
        tree.peek_with(&(i / 2), |_, v| *v);
        if i % 3 == 0 {
            tree.remove_sync(&i);
        }
    });
}

#[test]
fn cache() {
    let cache = moka::sync::Cache::new(100);
    (0..200u64).into_par_iter().for_each(|i| {
        let v = cache.get_with(i % 30, || vec![i]);
        std::hint::black_box(v.len());
        if i % 11 == 0 {
            cache.invalidate(&(i % 30));
        }
    });
}

#[test]
fn papaya_map() {
    let map = papaya::HashMap::new();
    (0..200u64).into_par_iter().for_each(|i| {
        let map = map.pin();
        map.insert(i % 40, vec![i]);
        map.get(&(i % 20)).map(|v| v.len());
        if i % 7 == 0 {
            map.remove(&(i % 40));
        }
    });
}

#[test]
fn flurry_map() {
    let map = flurry::HashMap::new();
    (0..200u64).into_par_iter().for_each(|i| {
        let guard = map.guard();
        map.insert(i % 40, vec![i], &guard);
        map.get(&(i % 20), &guard).map(|v| v.len());
        if i % 7 == 0 {
            map.remove(&(i % 40), &guard);
        }
    });
}

#[test]
fn dash_map() {
    let map = dashmap::DashMap::new();
    (0..200u64).into_par_iter().for_each(|i| {
        *map.entry(i % 20).or_insert(0) += i;
    });
    map.par_iter().for_each(|e| {
        std::hint::black_box(*e.value());
    });
}

#[test]
fn interned() {
    let rodeo = lasso::ThreadedRodeo::default();
    let keys: Vec<lasso::Spur> = (0..100)
        .into_par_iter()
        .map(|i| rodeo.get_or_intern(format!("{}", i % 10)))
        .collect();
    assert_eq!(rodeo.resolve(&keys[13]), "3");
}

#[test]
fn quick() {
    let cache = quick_cache::sync::Cache::new(50);
    (0..200u64).into_par_iter().for_each(|i| {
        let v = cache
            .get_or_insert_with(&(i % 30), || Ok::<_, ()>(vec![i]))
            .unwrap();
        std::hint::black_box(v.len());
    });
}

#[test]
fn append_only() {
    let vec = append_only_vec::AppendOnlyVec::new();
    let boxes = boxcar::Vec::new();
    (0..100usize).into_par_iter().for_each(|i| {
        let at = vec.push(vec![i]);
        std::hint::black_box(vec[at].len());
        let at = boxes.push(vec![i]);
        std::hint::black_box(boxes[at].len());
    });
    assert_eq!(vec.len(), 100);
}
