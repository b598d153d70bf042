use super::*;

/// Patterns that are hard to read; what each gives matters less than that both flavours give something.
fn odd_patterns() -> Vec<String> {
    let mut patterns: Vec<String> = [
        "",
        "\\",
        "\0",
        "[",
        "[^",
        "[\\",
        "(",
        ")",
        "(?",
        "(?P",
        "(?P<",
        "(?(",
        "(?<",
        "*",
        "{",
        "a{",
        "a{1",
        "a{1,",
        "a{99999999999999999999,}",
        "a{0,4294967296}",
        "\\x",
        "\\x{",
        "\\p",
        "\\p{",
        "\\Q",
        "\\1",
        "[\\",
        "[a-",
        "[[:",
        "(?#",
        "(?i",
        "(?-",
        "\u{10ffff}",
        "\u{feff}",
        "é{2}",
        "[😀-😎]",
        "[\0-\u{10ffff}]",
        "\n",
        "(?x)#",
        "(?x)\\",
    ]
    .map(str::to_owned)
    .into();
    for piece in ["(", "(?:", "(?=", "[", "(a|", "(?i:", "a{2}(", "\\Q", "|", "a*", "^", "(?<=", "(?P<n>"] {
        patterns.push(piece.repeat(10_000.min(MAX_PATTERN_BYTES / piece.len())));
    }
    for depth in [10, 59, 60, 61, 199, 200, 201, 10_000] {
        patterns.push(format!("{}a{}", "(".repeat(depth), ")".repeat(depth)));
        patterns.push(format!("{}a{}", "(?:".repeat(depth), "){2}".repeat(depth)));
    }
    patterns.push("(?:".repeat(12) + "a" + &"){9}".repeat(12));
    patterns.push(r"\w{1000}\pL{1000}".to_owned());
    patterns.push("a".repeat(MAX_PATTERN_BYTES + 1));
    patterns
}

#[test]
fn odd_patterns_are_patterns_or_errors_on_one_line() {
    for pattern in odd_patterns() {
        for compiled in [Pattern::re2(&pattern), Pattern::python(&pattern)] {
            match compiled {
                Ok(compiled) => {
                    for text in ["", "a", "\0", "é\n", "😀"] {
                        let _ = compiled.is_match(text);
                        let _ = compiled.replace_all(text, "\\1", 100);
                    }
                }
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
    }
}

#[test]
fn ten_thousand_parentheses_are_an_error() {
    let deep = "(".repeat(10_000) + &")".repeat(10_000);
    for compiled in [Pattern::re2(&deep), Pattern::python(&deep)] {
        assert!(matches!(compiled, Err(PatternError::Invalid(message)) if message.contains("nested more than")));
    }
}

#[test]
fn sizes_are_bounded() {
    for pattern in [r"(?:\w{100}){100}", r"\pL{1000}", "(?:(?:(?:a{99}){99}){99}){99}"] {
        for compiled in [Pattern::re2(pattern), Pattern::python(pattern)] {
            // RE2's `\w` is small, so one of them may well fit.
            assert!(compiled.is_ok() || matches!(compiled, Err(PatternError::Invalid(_))), "{pattern}");
        }
    }
    assert!(Pattern::python(r"(?:\w{100}){100}").is_err());
    assert!(Pattern::python(r"\w{1,100}").is_ok());
    assert!(Pattern::re2(".{1000}").is_ok());
    assert!(Pattern::re2(&"a".repeat(MAX_PATTERN_BYTES)).is_ok());
    assert!(Pattern::re2(&"a".repeat(MAX_PATTERN_BYTES + 1)).is_err());
}

#[test]
fn messages_name_the_character() {
    let message = |pattern| {
        let error = Pattern::re2(pattern).map(drop).unwrap_err().to_string();
        error.strip_prefix("invalid regular expression: ").expect("every message says so").to_owned()
    };
    assert_eq!(message("é(?=a)"), "look-around is not part of RE2 syntax (at character 4)");
    assert_eq!(message("a\\\n\\"), "a single backslash at the end (at character 4)");
    assert_eq!(message("[[:\n:]]"), "` ` is not the name of a class (at character 6)");
}

#[test]
fn re2_patterns_do_not_replace() {
    let pattern = Pattern::re2("a").expect("compiles");
    assert!(matches!(pattern.replace_all("a", "b", 10), Err(PatternError::Invalid(_))));
    assert!(matches!(pattern.check_substitution("b"), Err(PatternError::Invalid(_))));
}

#[test]
fn copies_are_cheap_and_show_their_source() {
    let pattern = Pattern::python("a+").expect("compiles");
    let copy = pattern.clone();
    assert!(Arc::ptr_eq(&pattern.0, &copy.0));
    assert_eq!(copy.as_str(), "a+");
    assert_eq!(format!("{copy:?}"), r#"Pattern::python("a+")"#);
}
