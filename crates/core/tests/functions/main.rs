//! Internal functions that generated expressions call, as far as the vectors do not cover them.

mod inner;
mod runs;
mod variables;
