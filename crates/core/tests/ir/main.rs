//! The intermediate form: building, checking and printing programs.

mod builder;
mod order;
mod print;
mod tour;
mod validate;
