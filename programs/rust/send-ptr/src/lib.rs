//! `SendPtr`: the few lines people write to get a raw pointer past the borrow checker and into a task.
//!
//! It is where most races in Rust begin: the two `unsafe impl`s promise the compiler that the programmer keeps the tasks apart.
//! The programs of this workspace that are racy break the promise, their clean twins keep it. The pointer is only handed
//! out, never followed here, so that every access stands in the program that makes it.

/// A pointer to the first of some elements, which tasks may copy and share.
pub struct SendPtr<T>(*mut T);

// SAFETY: nothing is accessed through the type itself; who follows the pointer answers for it.
unsafe impl<T> Send for SendPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SendPtr<T> {}

impl<T> Clone for SendPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SendPtr<T> {}

impl<T> SendPtr<T> {
    pub fn new(elements: &mut [T]) -> SendPtr<T> {
        SendPtr(elements.as_mut_ptr())
    }

    pub fn to(place: &mut T) -> SendPtr<T> {
        SendPtr(place)
    }

    /// A pointer to the element at `index`, which must lie in the slice that `self` was made from.
    #[inline(always)]
    pub fn at(self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }
}
