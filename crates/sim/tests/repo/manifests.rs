//! What the manifest of every crate must say.

use crate::tree::{SourceFile, expect_none, text_files};

#[test]
fn every_crate_takes_the_workspace_lints_and_they_forbid_unsafe_code() {
    expect_none(
        &lint_complaints(&text_files()),
        "the lints stand once, in the Cargo.toml of the root; a crate says `[lints]` and `workspace = true`, nothing more",
    );
}

/// Manifests of workspace crates without the workspace's lints, and a root that does not forbid `unsafe`.
fn lint_complaints(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    let root = files.iter().find(|file| file.path == "Cargo.toml");
    if !root.is_some_and(|root| section_says(&root.text, "workspace.lints.rust", "unsafe_code", "\"forbid\"")) {
        complaints.push("Cargo.toml: [workspace.lints.rust] does not say unsafe_code = \"forbid\"".to_owned());
    }
    let crates: Vec<_> = files.iter().filter(|file| is_crate_manifest(&file.path)).collect();
    assert!(!crates.is_empty(), "no manifest found below crates/: does the check still look in the right place?");
    for manifest in crates {
        if !section_says(&manifest.text, "lints", "workspace", "true") {
            complaints.push(format!("{}: [lints] does not say workspace = true", manifest.path));
        }
    }
    complaints
}

fn is_crate_manifest(path: &str) -> bool {
    path.strip_prefix("crates/")
        .and_then(|rest| rest.strip_suffix("/Cargo.toml"))
        .is_some_and(|name| !name.contains('/'))
}

/// Whether a section of a manifest has a line `key = value`. Manifests here are written one key a line, so this needs no
/// parser of TOML.
fn section_says(manifest: &str, section: &str, key: &str, value: &str) -> bool {
    let mut inside = false;
    for line in manifest.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = name.trim() == section;
        } else if inside && line.split_once('=').is_some_and(|(k, v)| k.trim() == key && v.trim() == value) {
            return true;
        }
    }
    false
}

const ROOT: &str = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
const MEMBER: &str = "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n";

#[track_caller]
fn check(root: &str, member: &str, complaints: usize) {
    let files = [SourceFile::new("Cargo.toml", root), SourceFile::new("crates/a/Cargo.toml", member)];
    assert_eq!(lint_complaints(&files).len(), complaints);
}

#[test]
fn a_crate_that_drops_or_comments_out_the_lints_is_reported() {
    check(ROOT, MEMBER, 0);
    check(ROOT, "[package]\nname = \"a\"\n", 1);
    check(ROOT, "[lints]\n# workspace = true\n", 1);
    check(ROOT, "[lints]\n[dependencies]\nworkspace = true\n", 1);
}

#[test]
fn a_workspace_that_only_denies_unsafe_code_is_reported() {
    check("[workspace.lints.rust]\nunsafe_code = \"deny\"\n", MEMBER, 1);
}
