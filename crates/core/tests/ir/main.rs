//! The intermediate form: building, checking and printing programs.

mod builder;
mod order;
mod picture;
mod print;
mod tour;
mod validate;
