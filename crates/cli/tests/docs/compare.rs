//! Comparison of output with the text of a page, without what differs from run to run.

use std::sync::LazyLock;

use regex::Regex;

/// The line that replaces the rest of an output.
const REST: &str = "…";

/// What differs from run to run, and its placeholder.
static VOLATILE: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let patterns = [
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC|[+-]\d\d:\d\d))?", "DATE"),
        // Lines about steps show a time only if it is long enough.
        (r", \d+(\.\d+)? (ms|s|min|h)\b", ""),
        (r"\b\d+(\.\d+)? ?(ms|s|min|h)\b( ago)?", "TIME"),
        (r#""\$?(duration_ms|delay_ms|took_ms|waited_ms)": ?\d+"#, r#""DURATION": 0"#),
        (r"\b[0-9][0-9a-z]{16}\b", "RUN"),
        (r"\b127\.0\.0\.1:\d+\b", "ADDRESS"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        // The times in a journal have more or fewer digits.
        (r"\b\d+ bytes\b", "SIZE"),
        (r" {2,}", "  "),
    ];
    patterns.map(|(pattern, word)| (Regex::new(pattern).expect("the pattern compiles"), word)).into()
});

fn stable(text: &str) -> String {
    VOLATILE.iter().fold(text.to_owned(), |text, (pattern, word)| pattern.replace_all(&text, *word).into_owned())
}

/// Whether the page shows this output. A last line `…` stands for everything that follows.
pub(crate) fn agrees(shown: &str, output: &str) -> bool {
    stable(&cut(shown, output)) == stable(shown.trim_end())
}

/// Whether the page shows the lines of this output, in any order.
pub(crate) fn agrees_in_any_order(shown: &str, output: &str) -> bool {
    let lines = |text: &str| {
        let text = stable(text.trim_end());
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    lines(shown) == lines(output)
}

/// The output as the page should show it: what the page has, where it agrees.
pub(crate) fn updated(shown: &str, output: &str) -> String {
    let text = if agrees(shown, output) { shown.trim_end().to_owned() } else { cut(shown, output) };
    if text.is_empty() { text } else { text + "\n" }
}

/// The output, cut where the page cuts it. `…8` asks for the first eight lines when the page is written.
fn cut(shown: &str, output: &str) -> String {
    let output = output.trim_end();
    let lines: Vec<&str> = shown.trim_end().lines().collect();
    let Some(last) = lines.last().and_then(|line| line.strip_prefix(REST)) else { return output.to_owned() };
    let count = match last.parse() {
        Ok(count) => count,
        Err(_) if last.is_empty() => lines.len() - 1,
        Err(_) => return output.to_owned(),
    };
    if output.lines().count() <= count {
        return output.to_owned();
    }
    let actual: Vec<&str> = output.lines().take(count).chain([REST]).collect();
    actual.join("\n")
}

#[test]
fn what_differs_from_run_to_run_does_not_count() {
    assert!(agrees("✓ a (text), 3 ms: 1\n", "✓ a (text), 1.2 s: 1\n"));
    assert!(agrees("✓ a (text): 1\n", "✓ a (text), 1.2 s: 1\n"));
    assert!(agrees("at 2026-01-02 03:04:05  x", "at 2027-11-12T13:14:15Z  x"));
    assert!(agrees("run 1m7f8eft6s9vxjkqc", "run 2n7f8eft6s9vxjkqd\n"));
    assert!(!agrees("✓ a (text): 1\n", "✓ a (text): 2\n"));
    assert!(!agrees("", "an error\n"));
    assert!(agrees_in_any_order("a, 3 ms\nb\n", "b\na, 4 ms\n"));
    assert!(!agrees_in_any_order("a\nb\n", "b\n"));
}

#[test]
fn a_page_may_show_the_beginning_of_an_output() {
    assert!(agrees("a\n…\n", "a\nb\nc\n"));
    assert!(!agrees("a\n…\n", "b\nc\n"));
    assert_eq!(updated("…2\n", "a\nb\nc\n"), "a\nb\n…\n");
    assert_eq!(updated("x\n…\n", "a\nb\nc\n"), "a\n…\n");
    assert_eq!(updated("…9\n", "a\nb\n"), "a\nb\n");
}
