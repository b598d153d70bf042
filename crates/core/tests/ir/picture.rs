//! Diagrams of programs.

use branchpoint_core::ir::picture::{dot, mermaid, picture};

use super::tour::tour;

#[test]
fn a_tour_as_mermaid() {
    insta::assert_snapshot!(mermaid(&picture(&tour(), "")));
}

#[test]
fn a_tour_as_dot() {
    insta::assert_snapshot!(dot(&picture(&tour(), "")));
}
