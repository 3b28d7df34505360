//! A turn in, rows out.
