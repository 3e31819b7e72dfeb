//! Reading a result inside the scope whose tasks compute it.
//!
//! A scope waits for its tasks at its end, not before. The body of the scope goes on beside them, so its read is parallel to
//! the task's write. The repair is to read after the scope.

//@ verdict: race
//@ object: stack
//@ fin: rust/fin/scope_body_racy.fin

use send_ptr::SendPtr;

fn main() {
    let mut answer = 0;
    let place = SendPtr::to(&mut answer);
    let seen = rayon::scope(|scope| {
        scope.spawn(|_| unsafe { place.at(0).write_volatile(42) }); //~ race write
        unsafe { place.at(0).read_volatile() } //~ race read
    });
    println!("seen {seen}, at the end {answer}");
}
