//! Whole programs, built by the real cargo and compiler and run on the real driver. The tests are in
//! `tests`, the programs they build in `fixture`.
