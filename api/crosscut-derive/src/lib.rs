//! The derive macro for plain data that may live on a device.
