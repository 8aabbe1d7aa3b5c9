//! A device without hardware: records every call and fails on demand.
