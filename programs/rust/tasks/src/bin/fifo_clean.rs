//! The repair of `fifo_racy`: what must follow in order is one task; the tasks of one FIFO scope touch different cells.

//@ verdict: certified
//@ fin: rust/fin/fifo_clean.fin

use send_ptr::SendPtr;

fn main() {
    let mut cells = [0u64; 4];
    let cell = SendPtr::new(&mut cells);
    rayon::scope_fifo(|scope| {
        for i in 0..3 {
            scope.spawn_fifo(move |_| {
                unsafe { cell.at(i).write_volatile(i as u64) };
                unsafe { cell.at(i).write_volatile(cell.at(i).read_volatile() * 2) };
            });
        }
    });
    rayon::in_place_scope_fifo(|scope| {
        scope.spawn_fifo(|_| unsafe { cell.at(3).write_volatile(9) })
    });
    assert_eq!(cells, [0, 2, 4, 9]);
    println!("the cells are {cells:?}");
}
