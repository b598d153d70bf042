//! The intermediate form: building, checking and printing programs.

mod builder;
mod effects;
mod order;
mod picture;
mod print;
mod tour;
mod validate;
