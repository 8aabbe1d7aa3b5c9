//! The list of adapters.
