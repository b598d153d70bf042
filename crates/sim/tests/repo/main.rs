//! Checks of the repository itself. Each check is a pure function from what it reads to a list of complaints. One test
//! runs it on this repository; the tests beside it show, on small made-up inputs, that it can complain.

mod dependencies;
mod effects;
mod hygiene;
mod kinds;
mod manifests;
mod sources;
mod tree;
mod words;
