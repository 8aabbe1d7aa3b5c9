//! Registry, device-global database, programs, queues, events and memory; all validation.
