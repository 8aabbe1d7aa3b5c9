//! One list of behaviours that every adapter must show.
