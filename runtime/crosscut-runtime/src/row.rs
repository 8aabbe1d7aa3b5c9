//! Rows that share what they have in common: whoever keeps how a row was keeps no copy of it.

use std::sync::Arc;

/// A list to which elements are added at its end. Clones share what was there when they were made.
pub(crate) struct Row<T> {
    newest: Option<Arc<Node<T>>>,
    length: usize,
}

struct Node<T> {
    element: T,
    older: Option<Arc<Node<T>>>,
}

impl<T> Row<T> {
    pub(crate) fn push(&mut self, element: T) {
        let older = self.newest.take();
        self.newest = Some(Arc::new(Node { element, older }));
        self.length += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.newest.is_none()
    }

    /// The elements, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &T> {
        let nodes = std::iter::successors(self.newest.as_deref(), |node| node.older.as_deref());
        nodes.map(|node| &node.element)
    }

    /// The elements, oldest first.
    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = &T> {
        let mut elements: Vec<&T> = self.newest_first().collect();
        elements.reverse();
        elements.into_iter()
    }
}

impl<T: Clone> Row<T> {
    /// Forgets the elements for which this does not hold. What stays is shared with nobody where any do not.
    pub(crate) fn retain(&mut self, mut holds: impl FnMut(&T) -> bool) {
        let mut kept = Self::default();
        let elements = self.oldest_first().filter(|element| holds(element));
        elements.for_each(|element| kept.push(element.clone()));
        if kept.length < self.length {
            *self = kept;
        }
    }
}

impl<T> Default for Row<T> {
    fn default() -> Self {
        Self { newest: None, length: 0 }
    }
}

impl<T> Clone for Row<T> {
    fn clone(&self) -> Self {
        Self { newest: self.newest.clone(), length: self.length }
    }
}

impl<T> Drop for Row<T> {
    /// One after the other: of a long row each node dropping the next overflows the stack.
    fn drop(&mut self) {
        let mut newest = self.newest.take();
        // From one that somebody else has, too, the rest is theirs.
        while let Some(node) = newest.and_then(Arc::into_inner) {
            newest = node.older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_share_what_they_had_in_common() {
        let counted = Arc::new(());
        let mut row = Row::default();
        let rows: Vec<Row<Arc<()>>> = (0..100)
            .map(|_| {
                row.push(Arc::clone(&counted));
                row.clone()
            })
            .collect();
        assert_eq!(Arc::strong_count(&counted), 1 + 100, "each element is there once");
        assert!(rows.iter().enumerate().all(|(at, row)| row.newest_first().count() == at + 1));
        row.retain(|_| true);
        assert_eq!(Arc::strong_count(&counted), 1 + 100);
        drop(row);
        assert_eq!(rows[99].len(), 100);
        drop(rows);
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    fn a_row_keeps_its_order() {
        let mut row = Row::default();
        (0..10).for_each(|number| row.push(number));
        let before = row.clone();
        row.retain(|number| number % 3 == 0);
        row.push(10);
        assert!(row.oldest_first().eq(&[0, 3, 6, 9, 10]));
        assert!(row.newest_first().eq(&[10, 9, 6, 3, 0]));
        assert!(before.oldest_first().copied().eq(0..10));
        assert_eq!((row.len(), before.len()), (5, 10));
        row.retain(|_| false);
        assert!(row.is_empty());
    }

    #[test]
    fn a_long_row_goes_without_overflowing_the_stack() {
        let mut row = Row::default();
        (0..1_000_000).for_each(|number| row.push(number));
        let shared = row.clone();
        drop(row);
        std::thread::spawn(move || drop(shared)).join().unwrap();
    }
}
