//! What no committed file may name: this machine, a place outside the repository, a package registry.

use crate::tree::{SourceFile, expect_none, text_files};

/// Folders of the machine that the project was written on. In two pieces, so that this file does not name them itself.
const MACHINE: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Places beside the repository.
const OUTSIDE: &[&str] = &[concat!("../", "shared")];

/// Hosts of package registries, and the words that point a package manager at another one. Where packages come from is
/// set on the machine that fetches them, not in the repository.
const REGISTRIES: &[&str] = &[
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("crates.io", "-index"),
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("npm.pkg.", "github.com"),
    concat!("pypi", ".org"),
    concat!("files.", "pythonhosted.org"),
    concat!("sparse+", "http"),
    concat!("replace", "-with"),
];

/// The one line that cargo itself writes into every lock file.
const STANDARD_SOURCE: &str = concat!("source = \"registry+https://github.com/rust-lang/crates.io", "-index\"");

#[test]
fn no_committed_file_names_this_machine_its_neighbours_or_a_registry() {
    expect_none(
        &foreign_names(&text_files()),
        "name a path inside the repository instead; where packages come from belongs into the settings of the machine",
    );
}

fn foreign_names(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        let lock_file = file.path.rsplit('/').next() == Some("Cargo.lock");
        for (number, line) in file.text.lines().enumerate() {
            if lock_file && line == STANDARD_SOURCE {
                continue;
            }
            let machine = MACHINE.iter().filter(|path| names_absolute(line, path));
            let others = OUTSIDE.iter().chain(REGISTRIES).filter(|name| line.contains(**name));
            let mut foreign: Vec<String> = machine.chain(others).map(ToString::to_string).collect();
            if lock_file && line.starts_with("source = ") {
                foreign.push("a source other than the standard registry".to_owned());
            }
            complaints.extend(foreign.iter().map(|name| format!("{}:{} names {name}", file.path, number + 1)));
        }
    }
    complaints
}

/// Whether the line holds the path as an absolute one: `/home/a/` but not the tail of `src/home/a/`.
fn names_absolute(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | '.' | '-'))
    })
}

#[track_caller]
fn check(path: &str, line: &str, complaints: usize) {
    assert_eq!(foreign_names(&[SourceFile::new(path, line)]).len(), complaints, "{path}: {line}");
}

#[test]
fn every_forbidden_name_is_reported() {
    for name in MACHINE.iter().chain(OUTSIDE).chain(REGISTRIES) {
        check("docs/a.md", &format!("see `{name}x`"), 1);
    }
}

#[test]
fn the_same_word_inside_a_longer_path_is_fine() {
    check("docs/a.md", concat!("docs/wo", "rk/a.md and https://example.org/wo", "rk/a"), 0);
}

#[test]
fn a_lock_file_may_name_the_standard_registry_and_no_other() {
    check("fuzz/Cargo.lock", STANDARD_SOURCE, 0);
    check("README.md", STANDARD_SOURCE, 1);
    check("Cargo.lock", "source = \"registry+https://mirror.example/index\"", 1);
    check("Cargo.lock", "source = \"git+https://github.com/a/b#0123\"", 1);
}
