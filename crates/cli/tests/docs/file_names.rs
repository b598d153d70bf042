//! A reader sees no info strings, so the text above a block names the file that it belongs to.

use super::page::{Block, Page};
use super::{expect_none, pages};

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
