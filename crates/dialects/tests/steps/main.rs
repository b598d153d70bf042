//! The dialect `steps`: every rule of loading, and programs as text.

mod calls;
mod programs;
mod rules;
mod warnings;

use branchpoint_dialects::{Loaded, load};
use branchpoint_expr::Dialect;

fn loaded(source: &str) -> Loaded {
    load(source, Some(Dialect::Steps))
}

/// Checks that there is a finding of this kind, with help, at this place.
#[track_caller]
fn finds(source: &str, kind: &str, at: &str) {
    let findings = loaded(source).diagnostics;
    let of_kind: Vec<_> = findings.iter().filter(|finding| finding.kind.as_str() == kind).collect();
    assert!(!of_kind.is_empty(), "{kind} is not among {findings:?}");
    let places: Vec<&str> = of_kind.iter().map(|finding| &source[finding.span.start as usize..]).collect();
    assert!(places.iter().any(|place| place.starts_with(at)), "{kind} is not at {at:?} but at {places:?}");
}
