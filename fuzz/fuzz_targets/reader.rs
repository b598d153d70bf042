//! Any text as a document: it is read or refused, and every place lies in the text.
#![no_main]

use branchpoint_expr::Located;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match branchpoint_dialects::read(text) {
    Ok(document) => within(&document, text),
    Err(findings) => assert!(!findings.is_empty(), "a refusal says why"),
});

fn within(located: &Located, text: &str) {
    assert!(located.span.range().end <= text.len(), "{:?}", located.span);
    for item in located.items().unwrap_or_default() {
        within(item, text);
    }
    for field in located.fields() {
        within(&field.value, text);
    }
}
