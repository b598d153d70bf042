//! Links lead somewhere: to a file that exists, and to a heading that it has.

use std::collections::BTreeMap;
use std::fs;

use crate::page::{Page, Span};
use crate::{expect_none, pages, root};

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let pages = pages();
    let anchors: BTreeMap<&str, Vec<String>> = pages.iter().map(|page| (&*page.name, page.anchors())).collect();
    let complaints =
        pages.iter().flat_map(|page| page.links().into_iter().filter_map(|link| broken(page, &link, &anchors)));
    expect_none(&complaints.collect::<Vec<_>>());
}

fn broken(page: &Page, link: &Span, anchors: &BTreeMap<&str, Vec<String>>) -> Option<String> {
    let is_elsewhere = link.text.contains("://") || link.text.starts_with("mailto:");
    if is_elsewhere || link.text.is_empty() {
        return None;
    }
    let (path, anchor) = link.text.split_once('#').unwrap_or((&link.text, ""));
    let path = if path.is_empty() { page.name.clone() } else { resolve(page.folder(), path) };
    if !root().join(&path).exists() {
        return Some(format!("{}:{}: the link `{}` leads to no file", page.name, link.line, link.text));
    }
    let has_anchor = anchors.get(&*path).is_none_or(|anchors| anchors.iter().any(|known| known == anchor));
    (!anchor.is_empty() && !has_anchor)
        .then(|| format!("{}:{}: `{path}` has no heading `#{anchor}`", page.name, link.line))
}

/// A relative path, from the root of the repository.
fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            let _ = parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Folders of the repository that pages and comments name.
const FOLDERS: [&str; 5] = ["docs/", "crates/", "examples/", "vectors/", "fuzz/"];

#[test]
fn every_file_that_a_page_names_exists() {
    let mut complaints = Vec::new();
    for page in pages() {
        let is_path = |span: &Span| {
            let plain = span.text.chars().all(|sign| sign.is_ascii_alphanumeric() || "/._-".contains(sign));
            plain && FOLDERS.iter().any(|folder| span.text.starts_with(folder))
        };
        for span in page.code().into_iter().filter(is_path) {
            let is_there = root().join(&span.text).exists();
            // What a fuzz run leaves behind is not committed.
            if !is_there && !span.text.starts_with("fuzz/") {
                complaints.push(format!("{}:{}: `{}` does not exist", page.name, span.line, span.text));
            }
        }
    }
    expect_none(&complaints);
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let pages = pages();
    let summary = pages.iter().find(|page| page.name == "docs/SUMMARY.md").expect("there is a table of contents");
    let listed: Vec<String> = summary.links().iter().map(|link| resolve("docs", &link.text)).collect();
    let mut complaints = Vec::new();
    for page in pages
        .iter()
        .filter(|page| page.name.starts_with("docs/") && !["docs/SUMMARY.md", "docs/llms.txt"].contains(&&*page.name))
    {
        let times = listed.iter().filter(|name| **name == page.name).count();
        if times != 1 {
            complaints.push(format!("docs/SUMMARY.md lists {} {times} times, not once", page.name));
        }
    }
    expect_none(&complaints);
}

#[test]
fn every_page_that_the_sources_name_exists() {
    let mut complaints = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "txt") {
                let text = fs::read_to_string(&path).expect("a source can be read");
                let names = named_pages(&text);
                let missing = names.into_iter().filter(|name| !root().join(name).exists());
                complaints.extend(missing.map(|name| format!("{}: `{name}` does not exist", path.display())));
            }
        }
    }
    expect_none(&complaints);
}

/// The pages that a text names: `docs/` and what follows it up to `.md`.
fn named_pages(text: &str) -> Vec<String> {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || "/._-".contains(sign);
    let starts = text.match_indices("docs/").map(|(at, _)| &text[at..]);
    let names = starts.map(|rest| rest.split(|sign| !is_part(sign)).next().unwrap_or_default());
    // Names of one letter, such as `docs/a.md`, are those that tests make up.
    let stem = |name: &str| name.strip_suffix(".md").and_then(|name| name.rsplit('/').next()).map_or(0, str::len);
    names.filter(|name| stem(name) > 1).map(String::from).collect()
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = |text: &str| Page::parse("docs/how-to/approvals.md".into(), text.into());
    let anchors = BTreeMap::from([("docs/how-to/approvals.md", vec!["here".to_owned()])]);
    let count = |text: &str| {
        let page = page(text);
        page.links().iter().filter(|link| broken(&page, link, &anchors).is_some()).count()
    };
    assert_eq!(count("[a](../../README.md) [b](https://example.org/x) [c](#here)"), 0, "all of these lead somewhere");
    assert_eq!(count("[a](../../READYOU.md) [c](#there)"), 2);
    assert_eq!(named_pages("see docs/spec/steps.md#3, `docs/x.md`, docs/spec/"), ["docs/spec/steps.md"]);
}
