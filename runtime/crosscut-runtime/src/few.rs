//! Short lists without an allocation: a launch makes several, and each would cost about as much as
//! everything else that the host CPU does for an empty kernel.

use std::ops::{Deref, DerefMut};

use arrayvec::ArrayVec;

/// A list that allocates only once it has more than `N` elements.
#[derive(Debug)]
pub struct Few<T, const N: usize> {
    few: ArrayVec<T, N>,
    /// All of them, once they are more than `N`; empty before.
    many: Vec<T>,
}

impl<T, const N: usize> Few<T, N> {
    /// An empty list.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { few: ArrayVec::new_const(), many: Vec::new() }
    }

    /// Adds an element at the end.
    #[inline]
    pub fn push(&mut self, element: T) {
        if !self.many.is_empty() {
            self.many.push(element);
        } else if let Err(full) = self.few.try_push(element) {
            self.spill(full.element());
        }
    }

    #[cold]
    fn spill(&mut self, element: T) {
        self.many.reserve(2 * N + 1);
        self.many.extend(self.few.drain(..));
        self.many.push(element);
    }
}

impl<T, const N: usize> Default for Few<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        if self.many.is_empty() { &self.few } else { &self.many }
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.many.is_empty() { &mut self.few } else { &mut self.many }
    }
}

impl<T, const N: usize> FromIterator<T> for Few<T, N> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut list = Self::new();
        elements.into_iter().for_each(|element| list.push(element));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn a_list_keeps_its_order_when_it_grows_beyond_its_room() {
        for length in 0..20 {
            let mut list: Few<usize, 4> = (0..length).collect();
            assert_eq!(list.to_vec(), (0..length).collect::<Vec<_>>());
            list.push(99);
            list.iter_mut().for_each(|element| *element += 1);
            let expected: Vec<_> = (1..=length).chain([100]).collect();
            assert_eq!(list.to_vec(), expected);
        }
    }

    #[test]
    fn a_list_drops_each_element_once() {
        use std::sync::Arc;
        let counted = Arc::new(());
        for length in [0, 2, 4, 5, 9] {
            let list: Few<Arc<()>, 4> = (0..length).map(|_| Arc::clone(&counted)).collect();
            assert_eq!(Arc::strong_count(&counted), length + 1);
            drop(list);
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    }
}
