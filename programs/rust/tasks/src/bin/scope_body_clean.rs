//! The repair of `scope_body_racy`: the result is read after the scope. Two scopes, one after the other, are ordered too.

//@ verdict: certified
//@ fin: rust/fin/scope_body_clean.fin

use send_ptr::SendPtr;

fn main() {
    let mut answer = 0;
    let place = SendPtr::to(&mut answer);
    rayon::scope(|scope| {
        scope.spawn(|_| unsafe { place.at(0).write_volatile(41) });
    });
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| unsafe { place.at(0).write_volatile(place.at(0).read_volatile() + 1) });
    });
    assert_eq!(answer, 42);
    println!("the answer is {answer}");
}
