//! Programs as users write them; each is an example target beside this file.
