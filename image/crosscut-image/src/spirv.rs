//! A checked walk over SPIR-V.
