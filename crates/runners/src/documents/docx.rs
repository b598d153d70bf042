//! The text of DOCX files: a ZIP archive whose `word/document.xml` holds paragraphs and tables.

use std::io::{Cursor, Read};

use roxmltree::{Document, Node, ParsingOptions};
use zip::ZipArchive;

/// The most bytes of the unpacked document: a small archive can unpack to any size.
const MAX_XML_BYTES: u64 = 64 * 1024 * 1024;
/// The most elements of the document.
const MAX_NODES: u32 = 2_000_000;

/// The text of the document: a line for each paragraph, and tabs between the cells of a table.
pub(super) fn text(bytes: &[u8]) -> Result<String, String> {
    let xml = unpack(bytes)?;
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&xml, options)
        .map_err(|error| format!("the DOCX file cannot be read: {error}"))?;
    Ok(written(document.root()).trim().to_owned())
}

/// The text below a node. It uses a stack instead of recursion, because the author of the file controls the depth.
fn written(root: Node<'_, '_>) -> String {
    let mut text = String::new();
    let mut stack = vec![(root, false)];
    while let Some((node, is_open)) = stack.pop() {
        if is_open {
            close(node, &mut text);
            continue;
        }
        open(node, &mut text);
        stack.push((node, true));
        stack.extend(node.children().rev().map(|child| (child, false)));
    }
    text
}

fn unpack(bytes: &[u8]) -> Result<String, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("the DOCX file cannot be read: {error}");
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| unreadable(&error))?;
    let part = archive.by_name("word/document.xml").map_err(|error| unreadable(&error))?;
    let mut xml = String::new();
    part.take(MAX_XML_BYTES + 1).read_to_string(&mut xml).map_err(|error| unreadable(&error))?;
    if xml.len() as u64 > MAX_XML_BYTES {
        return Err(format!("the DOCX file unpacks to more than {MAX_XML_BYTES} bytes"));
    }
    Ok(xml)
}

fn open(node: Node<'_, '_>, text: &mut String) {
    match node.tag_name().name() {
        "t" => text.push_str(node.text().unwrap_or_default()),
        "tab" if is_in_run(node) => text.push('\t'),
        "br" | "cr" => text.push('\n'),
        // A cell after the first of its row.
        "tc" if node.prev_siblings().skip(1).any(|cell| cell.tag_name().name() == "tc") => text.push('\t'),
        _ => {}
    }
}

fn close(node: Node<'_, '_>, text: &mut String) {
    match node.tag_name().name() {
        "p" if !is_in_cell(node) => text.push('\n'),
        // The paragraphs of one cell stay in one line of the table.
        "p" if node.next_sibling_element().is_some() => text.push(' '),
        "tr" => text.push('\n'),
        _ => {}
    }
}

/// `w:tab` is also the definition of a tab stop in the properties of a paragraph.
fn is_in_run(node: Node<'_, '_>) -> bool {
    node.parent().is_some_and(|parent| parent.tag_name().name() == "r")
}

fn is_in_cell(node: Node<'_, '_>) -> bool {
    node.parent().is_some_and(|parent| parent.tag_name().name() == "tc")
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::{MAX_XML_BYTES, text};

    #[test]
    fn paragraphs_are_lines_and_tables_have_tabs() {
        let text = text(include_bytes!("../../tests/documents/offer.docx")).expect("a good file");
        assert_eq!(
            text,
            "Offer 42\nDear Ms Okafor,\nService\tPrice\nReview\t900 EUR\nValid until 31 December\tat noon"
        );
    }

    #[test]
    fn a_file_that_is_not_a_docx_is_rejected() {
        assert!(text(b"PK no archive").expect_err("not an archive").starts_with("the DOCX file cannot be read"));
        let other = archive("other.xml", b"<a/>");
        assert!(text(&other).expect_err("no document").starts_with("the DOCX file cannot be read"));
    }

    #[test]
    fn an_archive_that_unpacks_to_much_is_rejected() {
        let bomb = archive("word/document.xml", &vec![b' '; usize::try_from(MAX_XML_BYTES).unwrap() + 1]);
        assert!(bomb.len() < 1024 * 1024, "{} bytes", bomb.len());
        assert!(text(&bomb).expect_err("too large").contains("unpacks to more than"));
    }

    fn archive(name: &str, content: &[u8]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
        writer.finish().unwrap().into_inner()
    }
}
