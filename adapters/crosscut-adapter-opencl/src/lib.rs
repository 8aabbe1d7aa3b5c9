//! OpenCL devices, through a library found at run time.
