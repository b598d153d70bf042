//! Plain language: words and phrases that readers of this field would not understand or search for.
//!
//! `docs/writing.md` says how names, comments and messages are written. This check keeps out the wording that was
//! removed once; it cannot judge whether a sentence is clear.

use crate::tree::{SourceFile, expect_none, text_files};

/// Words that are banned wherever they are written: in names, comments, messages and pages.
const WORDS: &[(&str, &str)] = &[
    ("told", "reported, printed, shown"),
    ("whoever", "the caller, the person, the process"),
    ("nobody", "no one in particular: name the process or person, or write \"not\""),
    ("hears", "receives, is notified of"),
    ("hearing", "redaction, receiving"),
    ("wishes", "options"),
];

/// Words that are banned as a part of a name (`is_asked`, `desk`), because prose needs some of them.
const NAME_PARTS: &[(&str, &str)] = &[
    ("asked", "requested, pending"),
    ("heard", "received"),
    ("stands", "is_at, position"),
    ("tell", "report, print, show"),
    ("tells", "reports, prints"),
];

/// Words that are banned as the whole name of a type, function or module.
const WHOLE_NAMES: &[&str] = &[
    "asked", "came", "found", "heard", "kept", "known", "left", "made", "put", "said", "taken", "told", "went", "desk",
    "room", "past", "fence", "patience", "wishes", "hearing", "outside", "revised", "Act", "Asked", "Begun", "Came",
    "Heard", "Kept", "Known", "LeftOut", "Made", "Manner", "Needless", "No", "Said", "Seen", "Taken", "Told",
    "Trouble", "Wanted", "What",
];

/// Words that are banned as the whole name of a local value.
const VALUE_NAMES: &[&str] = &["asked", "came", "found", "heard", "kept", "made", "said", "taken", "told"];

/// Names of stored columns, which keep their names because stores have them.
const STORED_NAMES: &[&str] = &["asked_ms"];

/// Phrases that are banned in comments, messages and pages.
const PHRASES: &[(&str, &str)] = &[
    ("so much as", "at most, at least, even"),
    ("it stands", "it is"),
    ("stands for itself", "is literal"),
    ("stands in", "is in"),
    ("stands there", "is there"),
    ("stands beside", "is beside"),
    ("that stands", "that is"),
    ("what stands", "the text, the value, the content"),
    ("comes up", "occurs"),
    ("is asked", "is requested, is an approver"),
    ("are asked", "are approvers, are requested"),
    ("was taken", "was accepted, was chosen"),
    ("not taken", "rejected, not chosen"),
    ("cannot be told", "is unknown"),
    ("is to be text", "must be text"),
    ("is no number", "is not a number"),
    ("is no text", "is not text"),
    ("is no list", "is not a list"),
    ("is no object", "is not an object"),
    ("is no workflow", "is not a workflow"),
    ("is no input", "is not an input"),
    ("is no duration", "is not a duration"),
    ("goes otherwise", "differs"),
    ("that nobody", "without"),
    ("the one way", "the only function that"),
];

/// Files whose wording is not ours to change, or records how something was once called.
const EXEMPT: &[&str] = &[
    "CHANGELOG.md",
    "LICENSE",
    "docs/spec/",
    "vectors/",
    "crates/sim/tests/repo/words.rs",
    // Recorded data of the web page's design, and its colours, which are used as they were given.
    "web/tests/fixtures/",
    "web/src/tokens.css",
];

#[test]
fn everything_is_written_in_plain_words() {
    let files: Vec<SourceFile> = text_files().into_iter().filter(|file| is_checked(&file.path)).collect();
    expect_none(&complaints(&files), "write it as docs/writing.md says, with the words of the field");
}

fn is_checked(path: &str) -> bool {
    let is_lock_file = std::path::Path::new(path).extension().is_some_and(|extension| extension == "lock");
    !is_lock_file && !EXEMPT.iter().any(|prefix| path.starts_with(prefix))
}

fn complaints(files: &[SourceFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            let place = format!("{}:{}", file.path, index + 1);
            complaints.extend(line_complaints(line, file.extension()).map(|found| format!("{place}: {found}")));
        }
    }
    complaints
}

fn line_complaints(line: &str, extension: &str) -> impl Iterator<Item = String> {
    let is_code = matches!(extension, "rs" | "ts" | "tsx");
    let lower = line.to_lowercase();
    let mut found = Vec::new();
    for name in names(line).filter(|name| !STORED_NAMES.contains(name)) {
        let parts: Vec<String> = parts(name).collect();
        let has = |word: &str| parts.iter().any(|part| part == word);
        found.extend(WORDS.iter().filter(|(word, _)| has(word)).map(|(word, better)| advice(word, better)));
        if is_code && parts.len() > 1 {
            found.extend(NAME_PARTS.iter().filter(|(word, _)| has(word)).map(|(word, better)| advice(word, better)));
        }
    }
    if is_code {
        let values = names_after(line, &["let", "mut"]).filter(|name| VALUE_NAMES.contains(name));
        let declared = names_after(line, DECLARES).filter(|name| WHOLE_NAMES.contains(name)).chain(values);
        found.extend(
            declared.map(|name| format!("`{name}` does not say what it is; use a noun or a verb of the field")),
        );
    }
    found.extend(
        PHRASES.iter().filter(|(phrase, _)| has_phrase(&lower, phrase)).map(|(phrase, better)| advice(phrase, better)),
    );
    found.into_iter()
}

fn advice(word: &str, better: &str) -> String {
    format!("\"{word}\" (say: {better})")
}

/// Identifiers and words of a line.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|sign: char| !sign.is_alphanumeric() && sign != '_').filter(|name| !name.is_empty())
}

/// The words of a name: `runs_told` and `RunsTold` have `runs` and `told`.
fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    for sign in name.chars() {
        if sign == '_' || sign.is_uppercase() {
            parts.push(String::new());
        }
        if sign != '_' {
            parts.last_mut().expect("it never gets empty").extend(sign.to_lowercase());
        }
    }
    parts.into_iter().filter(|part| !part.is_empty())
}

/// What declares a type, a function or a module.
const DECLARES: &[&str] = &["fn", "struct", "enum", "trait", "type", "mod", "function", "class", "interface"];

/// The names that follow one of the keywords in a line of code.
fn names_after<'a>(line: &'a str, keywords: &[&str]) -> impl Iterator<Item = &'a str> {
    let code = line.split("//").next().unwrap_or_default();
    let words: Vec<&str> = names(code).collect();
    let pairs: Vec<&str> = words.windows(2).filter(|pair| keywords.contains(&pair[0])).map(|pair| pair[1]).collect();
    pairs.into_iter()
}

/// Whether the phrase is in the text as whole words. "There is no input" is plain, "`n` is no input" is not.
fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let is_whole = ![before, after].into_iter().flatten().any(|sign| sign.is_alphanumeric() || sign == '_');
        is_whole && !(phrase.starts_with("is no ") && text[..at].trim_end().ends_with("there"))
    })
}

#[track_caller]
fn check(path: &str, line: &str, expect: usize) {
    let complaints = complaints(&[SourceFile::new(path, line)]);
    assert_eq!(complaints.len(), expect, "{path}: {line}: {complaints:?}");
}

#[test]
fn a_banned_word_is_found_in_names_comments_messages_and_pages() {
    check("crates/a/src/b.rs", "fn steps_told() {}", 1);
    check("crates/a/src/b.rs", "struct RunsTold;", 1);
    check("crates/a/src/b.rs", "/// Told by the host.", 1);
    check("docs/a.md", "What nobody drives is resumed.", 1);
    check("docs/a.md", "A store and its runs.", 0);
}

#[test]
fn a_banned_part_of_a_name_may_be_a_word_of_prose() {
    check("crates/a/src/b.rs", "let is_asked = true;", 1);
    check("docs/a.md", "The question that people most often asked.", 0);
}

#[test]
fn a_banned_name_is_found_where_it_is_declared() {
    check("crates/a/src/b.rs", "pub(crate) fn taken(&self) {}", 1);
    check("crates/a/src/b.rs", "enum Known {", 1);
    check("crates/a/src/b.rs", "mod desk;", 1);
    check("crates/a/src/b.rs", "let (mut asked, rest) = split(text);", 1);
    check("crates/a/src/b.rs", "let left = right;", 0);
}

#[test]
fn a_banned_phrase_is_found_between_other_words() {
    check("docs/a.md", "`n` is to be text", 1);
    check("docs/a.md", "`n` is no input", 1);
    check("docs/a.md", "There is no input `n`.", 0);
    check("docs/a.md", "It was taken.", 1);
    check("docs/a.md", "It is not taken_over.", 0);
}

#[test]
fn files_of_others_are_not_checked() {
    assert!(!is_checked("vectors/README.md") && !is_checked("Cargo.lock") && !is_checked("LICENSE-MIT"));
    assert!(is_checked("crates.md"));
}
