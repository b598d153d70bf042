//! The text of PDF files.

/// The text of all pages; a page that is only an image has none.
pub(super) fn text(bytes: &[u8]) -> Result<String, String> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(bytes)
        .map_err(|error| format!("the PDF file cannot be read: {error}"))?;
    let pages: Vec<&str> = pages.iter().map(|page| page.trim()).filter(|page| !page.is_empty()).collect();
    if pages.is_empty() {
        return Err("the PDF file has no text; its pages are probably images".to_owned());
    }
    Ok(pages.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn text_of_every_page_is_extracted() {
        let text = text(include_bytes!("../../tests/documents/invoice.pdf")).expect("a good file");
        for part in ["Invoice 2026-117", "Müller & Söhne GmbH, Köln", "Toner", "380.50 EUR", "payable within 30 days"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_file_that_is_not_a_pdf_is_rejected() {
        assert!(text(b"Dear Sir or Madam").expect_err("not a PDF").starts_with("the PDF file cannot be read"));
    }
}
