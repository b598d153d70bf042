//! Names of files: a reader sees no info strings, so the text above a block names its file, and the map names files that exist.

use std::fs;
use std::path::Path;

use super::page::{Block, Page};
use super::{expect_none, pages, root};

/// How far above a block its file is named, in lines.
const LINES_ABOVE: usize = 8;

/// Whether the text between a block and the one before names a file.
fn names_file(page: &Page, block: &Block, file: &str) -> bool {
    let lines: Vec<&str> = page.text.lines().collect();
    let fence = block.lines.start.saturating_sub(1);
    let above = lines[..fence].iter().rev().take(LINES_ABOVE).take_while(|line| !line.starts_with("```"));
    above.into_iter().any(|line| line.contains(&format!("`{file}`")))
}

/// The blocks of a page whose file the text above does not name.
fn unnamed(page: &Page) -> Vec<String> {
    let files = page.blocks.iter().filter_map(|block| Some((block, block.attribute("title")?)));
    let missing = files.filter(|(block, file)| !names_file(page, block, file));
    missing
        .map(|(block, file)| {
            format!("{}:{}: name the file above: Save this as `{file}`:", page.name, block.lines.start)
        })
        .collect()
}

#[test]
fn every_file_of_a_guide_is_named_above_its_block() {
    let is_guide = |page: &&Page| {
        ["docs/tutorials", "docs/how-to"].contains(&page.folder())
            || ["README.md", "docs/get-started.md"].contains(&&*page.name)
    };
    let pages = pages();
    let guides: Vec<&Page> = pages.iter().filter(is_guide).collect();
    assert!(guides.len() > 10, "the guides are found");
    expect_none(&guides.into_iter().flat_map(unnamed).collect::<Vec<_>>());
}

#[test]
fn a_block_without_the_name_of_its_file_is_reported() {
    let page = |above: &str| Page::parse("a.md".to_owned(), format!("{above}\n\n```yaml title=a.yaml\nx: 1\n```\n"));
    assert_eq!(unnamed(&page("Save this as `a.yaml`:")), Vec::<String>::new());
    assert_eq!(unnamed(&page("Save this:")), ["a.md:3: name the file above: Save this as `a.yaml`:"]);
}

/// The source files that the map names and that do not exist.
fn missing_files(map: &Page, files: &[String]) -> Vec<String> {
    let exists = |name: &str| files.iter().any(|file| file == name || file.ends_with(&format!("/{name}")));
    let is_source = |text: &str| Path::new(text).extension().is_some_and(|extension| extension == "rs");
    let named = map.code().into_iter().filter(|span| is_source(&span.text) && !span.text.contains(['{', '*', ' ']));
    let missing = named.filter(|span| !exists(&span.text));
    missing.map(|span| format!("{}:{}: there is no file `{}`", map.name, span.line, span.text)).collect()
}

/// All Rust files below a folder, from the root of the repository.
fn rust_files(folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder can be read").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path.to_string_lossy().into_owned());
        }
    }
}

#[test]
fn every_source_file_that_the_map_names_exists() {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    let pages = pages();
    let map = pages.iter().find(|page| page.name == "ARCHITECTURE.md").expect("the map is a page");
    expect_none(&missing_files(map, &files));
}

#[test]
fn a_missing_source_file_is_reported() {
    let map = Page::parse("a.md".to_owned(), "`ir/print.rs` and `gone.rs`\n".to_owned());
    let files = ["crates/core/src/ir/print.rs".to_owned()];
    assert_eq!(missing_files(&map, &files), ["a.md:1: there is no file `gone.rs`"]);
}
