//! The documentation is true: every command that a page shows is executed, and its output is compared with the page.
//!
//! `docs/contributing.md` describes the conventions. `UPDATE_DOCS=1 cargo test -p branchpoint --test docs` writes the
//! present output into the pages; read the difference before you commit it.

mod commands;
mod compare;
mod file_names;
mod generated;
mod links;
mod page;
mod session;

use std::fs;
use std::path::{Path, PathBuf};

use page::Page;

/// The root of the repository.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the crate is two levels below the root of the repository")
}

/// Folders whose pages are part of the documentation, and pages beside them.
const FOLDERS: [&str; 2] = ["docs", "examples"];
const PAGES: [&str; 6] =
    ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md", "docs/llms.txt"];

/// All pages of the documentation, in a fixed order.
fn pages() -> Vec<Page> {
    let root = root();
    let mut paths: Vec<PathBuf> = PAGES.iter().map(|name| root.join(name)).collect();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut paths);
    }
    paths.sort();
    let pages = paths.iter().map(|path| {
        let name = path.strip_prefix(&root).expect("a page is below the root").to_string_lossy().into_owned();
        Page::parse(name, fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    });
    pages.collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
}

/// Whether the pages are to be written anew.
fn is_update() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// Ends the test with all complaints at once.
#[track_caller]
fn expect_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
