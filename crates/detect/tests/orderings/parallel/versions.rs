//! Versions: nobody sees a part of a change.

use super::rows::Rows;
use super::version::Version;
use crate::atomics::explore;
use loom::sync::Arc;
use loom::thread;

#[test]
fn words_change_together() {
    explore(|| {
        let rows: Rows<2> = Rows::reserve("rows", 1).unwrap();
        let row = rows.take(1).unwrap();
        let shared = Arc::new((Version::new(), rows));
        let other = shared.clone();
        let changer = thread::spawn(move || {
            let (version, rows) = &*other;
            for word in [1, 2] {
                version.change(|| rows.put(row, [word; 2]));
            }
        });
        let (version, rows) = &*shared;
        let [one, another] = version.steadily(|| rows.get(row));
        assert_eq!(one, another);
        changer.join().unwrap();
    });
}
