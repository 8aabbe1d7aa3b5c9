//! Programs that a device cannot run (`programs/`), and what the user is told; the test is beside them.
