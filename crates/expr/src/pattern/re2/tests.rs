use crate::pattern::{Pattern, PatternError};

/// `yes` and `no` are texts, separated by blanks, in which the pattern must be found and must not.
#[track_caller]
fn check(pattern: &str, yes: &str, no: &str) {
    let compiled = Pattern::re2(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    for (texts, want) in [(yes, true), (no, false)] {
        for text in texts.split(' ').filter(|text| !text.is_empty()) {
            assert_eq!(compiled.is_match(text), Ok(want), "{pattern} on {text:?}");
        }
    }
}

/// Like `check`, but for one text that may hold blanks.
#[track_caller]
fn check_text(pattern: &str, text: &str, want: bool) {
    let compiled = Pattern::re2(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    assert_eq!(compiled.is_match(text), Ok(want), "{pattern} on {text:?}");
}

#[track_caller]
fn rejected(pattern: &str, why: &str) {
    match Pattern::re2(pattern) {
        Err(PatternError::Invalid(message)) => assert!(message.contains(why), "{pattern}: {message}"),
        other => panic!("{pattern} gave {other:?}"),
    }
}

#[test]
fn searches_anywhere() {
    check("o+", "fox foo", "fix");
    check("^OK$", "OK", "OKs xOK");
    check("^$", "", "a");
    check_text("", "", true);
    check("a|b|", "x", "");
    check("(?i)error", "ERROR anError", "eror");
}

#[test]
fn dollar_is_the_end_of_the_text_only() {
    check_text("^OK$", "OK\n", false);
    check_text("(?m)^OK$", "OK\n", true);
    check_text("(?m)^b", "a\nb", true);
    check_text("^b", "a\nb", false);
    check_text(r"OK\z", "OK\n", false);
    check_text("a.b", "a\nb", false);
    check_text("(?s)a.b", "a\nb", true);
    check_text("(?s:a.)b.", "a\nb\n", false);
}

#[test]
fn letters_of_perl_are_ascii() {
    check(r"^\d$", "7", "٣ x");
    check(r"^\D$", "٣ x", "7");
    check(r"^\w$", "z _ 0", "é -");
    check(r"^\W$", "é -", "z _");
    check(r"^[\w-]$", "z -", "é");
    check(r"^[^\w]$", "é", "z");
    check(r"^[\W]$", "é", "z");
    check(r"^[\D\d]$", "é 1", "");
    check_text(r"^\s$", "\u{a0}", false);
    check_text(r"^\s$", "\u{b}", false);
    check_text(r"^[\s]$", "\t", true);
    check_text(r"^\S$", "\u{b}", true);
    check_text(r"\bé", "é", false);
    check_text(r"\bn", "én", true);
    check_text(r"\Bé", "é", true);
}

#[test]
fn classes_have_no_inner_classes() {
    check("^[a[b]$", "a b [", "]");
    check("^[[:alpha:]_]$", "a _", "1 : é");
    check("^[[:^alpha:]]$", "1 é", "a");
    check("^[[:word:]]$", "_", "-");
    check("^[]a]$", "] a", "b");
    check("^[^]a]$", "b", "] a");
    check("^[a-]$", "a -", "b");
    check("^[-a]$", "a -", "b");
    check(r"^[\d-z]$", "1 - z", "y");
    check("^[a-c-e]$", "b - e", "d");
    check(r"^[\x{41}-\x43\n]$", "A C", "D");
    check("^[[:x]$", "[ : x", "y");
    check(r"^[\]\-&~]$", "] - & ~", "\\");
    rejected("[[:foo:]]", "not the name of a class");
    rejected("[b-a]", "backwards");
    rejected("[a", "not closed");
    rejected("[]", "not closed");
    rejected(r"[a\", "not closed");
    rejected(r"[a-\d]", "not an escape");
    rejected(r"[\b]", "not an escape");
    rejected(r"[\Qa\E]", "not an escape");
}

#[test]
fn set_operations_are_refused() {
    rejected("[a-z&&[^b]]", "set operations");
    rejected("[a-z--b]", "set operations");
    rejected("[a--b]", "set operations");
    rejected("[a~~b]", "set operations");
    check(r"^[a\&&]$", "a &", "b");
    check("a&&b--c~~d", "a&&b--c~~d", "");
}

#[test]
fn quoting_takes_everything_literally() {
    check(r"^\Qa.b*\E$", "a.b*", "axb");
    check(r"\Q[(", "x[(", "");
    check(r"^\Qab\E+$", "abb", "abab");
    check(r"^\Q\\E$", r"\", "");
    check(r"\Q\E", "x", "");
    rejected(r"\Q\E*", "nothing to repeat");
    rejected(r"a\E", "not an escape");
}

#[test]
fn flags_are_those_of_re2() {
    check("a(?i)b|c", "aB C", "AB");
    check("a(?i:b)c", "aBc", "aBC");
    check("(?i)a(?-i)b", "Ab", "AB");
    check("(?i-s:a)", "A", "");
    check("(?U)a+?", "a", "");
    check("(?ii)a", "A", "");
    check("x(?)y", "xy", "");
    check("(?i)k", "\u{212a}", "");
    rejected("(?x)a b", "flags i, m, s and U");
    rejected("(?u)a", "flags i, m, s and U");
    rejected("(?-u)a", "flags i, m, s and U");
    rejected("(?-)a", "kind of group");
    rejected("(?i-)a", "kind of group");
    rejected("(?R)a", "kind of group");
}

#[test]
fn groups_may_have_names() {
    check("(?P<year>[0-9]{4})-(?<m>[0-9]{2})", "2024-05", "24-05");
    check("(?P<1a>x)", "x", "");
    rejected("(?P<n>a)(?P<n>b)", "two groups have the name");
    rejected("(?P<>a)", "cannot name");
    rejected("(?P<a b>a)", "cannot name");
    rejected("(?P<n", "no `>`");
    rejected("(?P=n)", "kind of group");
}

#[test]
fn patterns_that_need_backtracking_are_rejected() {
    rejected("(?=a)", "look-around");
    rejected("(?!a)", "look-around");
    rejected("(?<=a)b", "look-around");
    rejected("(?<!a)b", "look-around");
    rejected("(?>a)", "kind of group");
    rejected(r"(a)\1", "back-references");
    rejected(r"\8", "back-references");
    rejected("a++", "repetition of a repetition");
    rejected("(?#a)", "kind of group");
}

#[test]
fn escapes_are_those_of_re2() {
    check(r"^\x41\x{42}\103$", "ABC", "");
    check(r"^\x{1F600}$", "😀", "");
    check_text(r"^\0$", "\0", true);
    check_text(r"^\07\018$", "\u{7}\u{1}8", true);
    check_text(r"^\a\f\t\n\r\v$", "\u{7}\u{c}\t\n\r\u{b}", true);
    check(r"^\.\_\/\<\-$", "._/<-", "");
    check(r"\b{start}", "a{start}", "start");
    for pattern in
        [r"\Z", r"\u0041", r"\U00000041", r"\C", r"\G", r"\K", r"\e", r"\h", r"\R", r"\X", r"\é", r"\x", r"\x4"]
    {
        rejected(pattern, "escape");
    }
    for pattern in [r"\x{}", r"\x{110000}", r"\x{D800}", r"\x{41", r"\xZZ"] {
        rejected(pattern, "not complete");
    }
    rejected(r"a\", "single backslash");
}

#[test]
fn unicode_classes_are_categories_and_scripts() {
    check(r"^\pL$", "é", "1");
    check(r"^\PL$", "1", "é");
    check(r"^\p{Lu}$", "É", "é");
    check(r"^\p{^Lu}$", "é", "É");
    check(r"^\P{^Lu}$", "É", "é");
    check(r"^\p{Greek}$", "α", "a");
    check(r"^[\p{Greek}\d]$", "α 1", "a");
    check(r"^\p{Old_Italic}$", "𐌀", "a");
    check_text(r"^\p{Any}$", "\n", true);
    for pattern in [r"\p{sc=Greek}", r"\p{}", r"\pX", r"\p", r"\p{Cs}"] {
        rejected(pattern, "category or script");
    }
    for pattern in [r"\p{Nope}", r"\p{Alphabetic}", r"\p{Emoji}"] {
        rejected(pattern, "unknown script");
    }
    rejected(r"\p{Greek", "not closed");
}

#[test]
fn repetitions_are_counted_as_in_re2() {
    check("^a{2}$", "aa", "a aaa");
    check("^a{2,}$", "aa aaa", "a");
    check("^a{1,2}?$", "a aa", "aaa");
    check("^a{0}b$", "b", "ab");
    check("^a{,2}$", "a{,2}", "aa");
    check("^a{01}$", "a{01}", "a");
    check("^a{$", "a{", "a");
    rejected("{2}", "nothing to repeat");
    check("^*$", "x", "");
    check("^a{1000}b", "", "ab");
    check("(?:a{10}){100}", "", "a");
    for pattern in ["a{1001}", "a{2,1001}", "a{1001,}", "(?:a{10}){101}", "((a{100}){11})", "a{99999999999999999999}"] {
        rejected(pattern, "1000 repetitions");
    }
    rejected("a{2,1}", "smaller than the first");
    rejected("a{2}{3}", "repetition of a repetition");
    rejected("a**", "repetition of a repetition");
    for pattern in ["*", "+a", "a|*", "(*a)", "(?i)*", "(|+)"] {
        rejected(pattern, "nothing to repeat");
    }
}

#[test]
fn parentheses_must_pair() {
    rejected("(", "not closed");
    rejected("(a", "not closed");
    rejected("(?", "not closed");
    rejected("(?i", "not closed");
    rejected("a)", "without `(`");
    check("()", "x", "");
    check("(|a)*", "x", "");
}
