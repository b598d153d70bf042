//! Functions that front-ends lower to, as far as vectors do not pin them.

mod inner;
mod runs;
mod variables;
