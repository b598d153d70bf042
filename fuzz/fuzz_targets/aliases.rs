//! Documents with many aliases, in every shape that the bytes name: they are read or refused, and what is read is never larger
//! than the limits say. Then every dialect loads them.
#![no_main]

use std::fmt::Write;

use branchpoint_dialects::limits::{ALIAS_BYTES, NODES};
use branchpoint_dialects::{load, read};
use branchpoint_expr::{Dialect, Located};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = document(bytes);
    match read(&text) {
        Ok(document) => {
            let (nodes, written) = size(&document);
            assert!(nodes <= NODES, "{nodes} values");
            assert!(written <= text.len() + ALIAS_BYTES, "{written} bytes");
        }
        Err(findings) => assert!(!findings.is_empty(), "a refusal says why"),
    }
    for dialect in Dialect::ALL {
        let _ = load(&text, Some(dialect));
    }
});

/// One entry of a list for each pair of bytes: an anchored value made of a long text or of values that were anchored before.
fn document(bytes: &[u8]) -> String {
    let mut text = String::from("steps:\n- &a0 x\n");
    for (number, pair) in (1..).zip(bytes.chunks_exact(2)) {
        let alias = |back: usize| format!("*a{}", number - 1 - back % number);
        let from = usize::from(pair[1]);
        let several = vec![alias(from); 1 + from % 12].join(", ");
        let written = match pair[0] % 7 {
            0 => format!("- &a{number} {}", "x".repeat(from * from)),
            1 => format!("- &a{number} [{several}]"),
            2 => format!("- &a{number} {{id: {}, type: {}}}", alias(from), alias(from / 2)),
            3 => format!("- &a{number}\n  {} : {}", alias(from), alias(from / 3)),
            4 => format!("- &a{number}\n  <<: {}\n  k: [{several}]", alias(from)),
            5 => format!("- &a{number} [[{several}], {{a: {}, b: [{several}]}}]", alias(from)),
            _ => format!("- &a{number} \"{{{{ $x }}}} {}\"", "y".repeat(from)),
        };
        writeln!(text, "{written}").expect("writing to a text does not fail");
    }
    text
}

/// How many values there are, and how many bytes their texts and keys have.
fn size(located: &Located) -> (usize, usize) {
    let (mut nodes, mut bytes) = (1, located.text().map_or(0, |text| text.len()));
    let keys = located.fields().iter().map(|field| field.key.len()).sum::<usize>();
    let inner = located.items().unwrap_or_default().iter().chain(located.fields().iter().map(|field| &field.value));
    for part in inner {
        let (more, text) = size(part);
        (nodes, bytes) = (nodes + more, bytes + text);
    }
    (nodes, bytes + keys)
}
