//! The intermediate representation: building, validating and printing programs.

mod builder;
mod effects;
mod order;
mod picture;
mod print;
mod tour;
mod validate;
