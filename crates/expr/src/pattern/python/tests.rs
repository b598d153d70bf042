use crate::pattern::{Pattern, PatternError};

#[track_caller]
fn compiled(pattern: &str) -> Pattern {
    Pattern::python(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

/// `yes` and `no` are texts, separated by blanks, in which the pattern must be found and must not.
#[track_caller]
fn check(pattern: &str, yes: &str, no: &str) {
    let compiled = compiled(pattern);
    for (texts, want) in [(yes, true), (no, false)] {
        for text in texts.split(' ').filter(|text| !text.is_empty()) {
            assert_eq!(compiled.is_match(text), Ok(want), "{pattern} on {text:?}");
        }
    }
}

/// Like `check`, but for one text that may hold blanks.
#[track_caller]
fn check_text(pattern: &str, text: &str, want: bool) {
    let start: String = text.chars().take(30).collect();
    assert_eq!(compiled(pattern).is_match(text), Ok(want), "{pattern} on {start:?}");
}

#[track_caller]
fn rejected(pattern: &str, why: &str) {
    match Pattern::python(pattern) {
        Err(PatternError::Invalid(message)) => assert!(message.contains(why), "{pattern}: {message}"),
        other => panic!("{pattern} gave {other:?}"),
    }
}

#[track_caller]
fn replaces(pattern: &str, substitution: &str, text: &str, want: &str) {
    let got = compiled(pattern).replace_all(text, substitution, 1000);
    assert_eq!(got.as_deref(), Ok(want), "{pattern} by {substitution:?} in {text:?}");
}

#[track_caller]
fn refused_substitution(pattern: &str, substitution: &str, why: &str) {
    let pattern = compiled(pattern);
    match pattern.check_substitution(substitution) {
        Err(PatternError::Invalid(message)) => assert!(message.contains(why), "{substitution}: {message}"),
        other => panic!("{substitution} gave {other:?}"),
    }
    assert!(pattern.replace_all("", substitution, 1000).is_err());
}

#[test]
fn searches_anywhere_and_sees_around() {
    check("err", "an-error", "ERR");
    check(r"(INV|PO)-\d{4}", "PO-2026", "PO-26");
    check(r"^(?=.*\d)(?=.*[a-z]).{4,}$", "ab12", "abcd ab1");
    check("(?<!un)happy", "happy", "unhappy");
    check("(?<=un)happy", "unhappy", "happy");
    check("a(?!b)", "ac", "ab");
    check_text(r"\b(\w+) \1\b", "it is is so", true);
    check_text(r"\b(\w+) \1\b", "it is so", false);
    check("(?>a+)b", "aab", "aa");
    check("(?>a+)ab", "", "aab");
    check("a++ab|x", "x", "aab");
    check("a{1,3}+b", "aab", "c");
    check("^(a)?b(?(1)c|d)", "abc bd", "abd");
    check("^(?P<q>')?x(?(q)')$", "x 'x'", "'x");
}

#[test]
fn dollar_also_matches_before_a_final_newline() {
    for pattern in ["^OK$", "^(?:OK$)", "(^OK$)", "^OK$|^NO$", "^(OK|NO)$", "(?=OK$)OK", "^OK$(?#end)", "^(?:(OK$)|x$)"]
    {
        for (text, want) in [("OK", true), ("OK\n", true), ("OK\n\n", false), ("OK x", false), ("\nOK", false)] {
            check_text(pattern, text, want || (pattern.starts_with("(?=") && text == "\nOK"));
        }
    }
    check_text(r"^OK\Z", "OK\n", false);
    check_text(r"^OK\Z", "OK", true);
    check_text("a$\n", "a\n", true);
    check_text("a$\n", "a\nb", false);
    check_text("(a$)\n", "a\n", true);
    check_text("a$b|a$\n$", "a\n", true);
    check_text("(?m)^b$", "a\nb\nc", true);
    check_text("(?m:^b$)", "a\nb\nc", true);
    check_text("^b$", "a\nb\nc", false);
    check_text("x(?!$)", "x\n", false);
}

#[test]
fn letters_of_perl_are_unicode() {
    check(r"^\w\d\W\D$", "é٣-é", "-٣-é");
    check_text(r"\bé", "aé é", true);
    check_text(r"^\s$", "\u{a0}", true);
    check_text("a.b", "a\nb", false);
    check_text("(?s)a.b", "a\nb", true);
}

#[test]
fn flags_hold_where_python_lets_them() {
    check("(?i)error", "ERROR", "eror");
    check("(?i:a)b", "Ab", "AB");
    check("(?i)a(?-i:b)", "Ab", "AB");
    check("(?u)(?im)^a", "A", "");
    check(r"(?i)(ab)\1", "abAB", "abba");
    check("(?x) a b # c\n d", "abd", "abcd");
    check(r"(?x) [ a] \  {2}", "", "ab");
    check_text(r"(?x) [ a] \ {2}", "a  ", true);
    check("(?x: a )b", "ab", "");
    check("(?i-s:a)", "A", "");
    check("(?i-ss:a)", "A", "");
    rejected("a(?i)b", "must stand at its start");
    rejected("(a)|(?i)b", "must stand at its start");
    rejected("(?a)b", "not supported");
    rejected("(?L)b", "not supported");
    rejected("(?i-i:b)", "on and off");
    rejected("(?-i)b", "unknown flag");
    rejected("(?i-:b)", "unknown flag");
    rejected("(?iz)b", "unknown flag");
    rejected("(?i", "not closed");
}

#[test]
fn groups_are_those_of_python() {
    check("(?P<a>x)(?P=a)", "xx", "xy");
    check("(?P<größe>x)", "x", "");
    check(r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10", "abcdefghijj", "abcdefghija0");
    check(r"(a)\1(?#digit)0", "aa0", "");
    check("(?#comment)a", "a", "");
    for pattern in ["(?<n>a)", "(?'n'a)", "(?~a)", "(?|a)", "(?P>n)", "(?&n)", "(?R)", "(?1)", "(?)"] {
        rejected(pattern, "does not begin any kind of group");
    }
    rejected("(*FAIL)", "nothing to repeat");
    rejected("(?P<1>a)", "cannot name");
    rejected("(?P<>a)", "cannot name");
    rejected("(?P<a>x)(?P<a>y)", "two groups");
    rejected("(?P=a)", "group `a` does not exist");
    rejected(r"\1", "group 1 does not exist");
    rejected(r"(a\1)", "inside itself");
    rejected(r"(a)\2(b)", "group 2 does not exist");
    rejected("(?(1)a|b)", "does not name a group");
    rejected("(?(x)a|b)", "group `x` does not exist");
    rejected("(a)(?(1)a|b|c)", "two branches");
    rejected("(a)(?(1))", "nothing to choose");
    rejected("(?#a", "comment");
    rejected("(", "not closed");
    rejected(")", "without `(`");
}

#[test]
fn a_look_behind_has_one_width() {
    check("(?<=a|b)c", "ac bc", "cc");
    check("(?<=a{2}[bc])d", "aabd", "abd");
    check(r"(x)(?<=\1)y", "xy", "");
    for pattern in ["(?<=a*)b", "(?<=a|bc)d", "(?<!a?)b", "(?<=a{1,2})b", r"(a+)(?<=\1)b"] {
        rejected(pattern, "fixed width");
    }
    rejected(r"(?<=(a)\1)b", "same look-behind");
}

#[test]
fn escapes_are_those_of_python() {
    check(r"^\x41\u0042\U00000043\104$", "ABCD", "");
    check_text(r"^\0\07\n\t\a\f\v\r$", "\0\u{7}\n\t\u{7}\u{c}\u{b}\r", true);
    check(r"^\.\-\_\/\é\<$", ".-_/é<", "");
    check_text(r"^[\b]$", "\u{8}", true);
    check(r"^[\101\x42]$", "A B", "C");
    for pattern in [
        r"\G",
        r"\K",
        r"\R",
        r"\h",
        r"\pL",
        r"\X",
        r"\Q",
        r"\E",
        r"\e",
        r"\k<a>",
        r"\g<1>",
        r"\N{DIGIT ONE}",
        r"\x4",
        r"\u004",
        r"\U0011FFFF",
        r"\uD800",
        r"[\8]",
        r"[\Z]",
    ] {
        rejected(pattern, "not an escape");
    }
    rejected(r"\777", "above");
    rejected(r"[\777]", "above");
    rejected(r"\", "single backslash");
}

#[test]
fn classes_are_plain_sets() {
    check("^[[:alpha:]]$", "a] :]", "b");
    check("^[a&&b]$", "a & b", "c");
    check("^[a[b]$", "a [ b", "]");
    check("^[]-a]$", "] ^ a", "b");
    check("^[^]]$", "a", "]");
    check(r"^[\d-]$", "1 -", "a");
    check("^[--a]$", "- / a", "b");
    check(r"^[\w.]$", "é .", "-");
    rejected(r"[\d-z]", "range");
    rejected(r"[a-\d]", "range");
    rejected("[b-a]", "backwards");
    rejected("[a", "not closed");
    rejected("[]", "not closed");
}

#[test]
fn repetitions_are_counted_as_in_python() {
    check("^a{,2}$", "a aa", "aaa");
    check("^a{,}$", "aaa", "b");
    check("^a{01}$", "a", "aa");
    check("^a{}$", "a{}", "a");
    check("^a{x$", "a{x", "a");
    check("^a{2}?$", "aa", "a");
    check("^a{0}b$", "b", "ab");
    check("^(?:a{2}){2}$", "aaaa", "aa");
    rejected("a{2}{3}", "repetition of a repetition");
    rejected("a**", "repetition of a repetition");
    rejected("a{3,2}", "smaller than the first");
    for pattern in ["*", "a|*", "^*", "$?", r"\b+", "(?=a)*", "(?i)+"] {
        rejected(pattern, "nothing to repeat");
    }
    for pattern in ["(?:)*", "(^)?", "()+", "(?:$|^){2}"] {
        rejected(pattern, "without width");
    }
}

#[test]
fn replaces_as_re_sub_does() {
    replaces(r"\s+", " ", "mail  bob", "mail bob");
    replaces(r"(\w+)@(\w+)", r"\2 at \1", "bob@home", "home at bob");
    replaces(r"(?P<k>\w+)=(?P<v>\w+)", r"\g<v>=\g<k>", "a=1, b=2", "1=a, 2=b");
    replaces("b", r"[\g<0>]", "abc", "a[b]c");
    replaces("(a)|(b)", r"<\1\2>", "ab", "<a><b>");
    replaces("x*", "-", "abxd", "-a-b--d-");
    replaces("", "-", "aé", "-a-é-");
    replaces("^", "> ", "a\nb", "> a\nb");
    replaces("(?m)^", "> ", "a\nb", "> a\n> b");
    replaces("$", "!", "a\n", "a!\n!");
    replaces(r"\s+$", "", "a \n", "a");
    replaces("(a$|b$)", r"<\1>", "a\n", "<a>\n");
    replaces("(?<=a)b", "", "abab", "aa");
    replaces("(?<!^),", ";", ",a,b", ",a;b");
    replaces("a", "", "", "");
    replaces("x", "y", "abc", "abc");
}

#[test]
fn substitutions_have_the_escapes_of_python() {
    replaces("a", r"\n\t\\\.", "a", "\n\t\\\\.");
    replaces("a", r"\0\101\é$1", "a", "\0A\\é$1");
    replaces("(a)", r"\g<1>0", "a", "a0");
    refused_substitution("(a)", r"\2", "no group `2`");
    refused_substitution("(a)", r"\10", "no group `10`");
    refused_substitution("(a)", r"\g<b>", "no group `b`");
    refused_substitution("(a)", r"\g<>", "no group");
    refused_substitution("(a)", r"\g<99999999999999999999>", "no group");
    refused_substitution("(a)", r"\g1", "needs a group");
    refused_substitution("(a)", r"\q", "not an escape");
    refused_substitution("(a)", r"\777", "above");
    refused_substitution("(a)", "x\\", "single backslash");
}

#[test]
fn work_is_bounded_but_a_long_text_alone_is_not_too_much() {
    let text = "a".repeat(60_000);
    check_text("(?<!un)happy", &text, false);
    check_text("^yes$|^no$", &text, false);
    check_text("(a*)*b", &text, false);
    check_text("(?<!b)a(?=b)", &format!("{}b", &text[..20_000]), true);
    let hard = compiled(r"(x+x+)+(?=y)\1z");
    assert_eq!(hard.is_match(&format!("{}yz", "x".repeat(40))), Err(PatternError::TooMuchWork));
    assert_eq!(compiled("(?=a)b").is_match(&"b".repeat(200_000)), Err(PatternError::TooMuchWork));
    assert!(compiled("(?:ab?){4000}").cost(&"b".repeat(200_000)) > crate::Limits::DEFAULT.regex_steps);
}

#[test]
fn replacements_are_bounded() {
    let pattern = compiled("a");
    assert_eq!(pattern.replace_all("aa", "bb", 4).as_deref(), Ok("bbbb"));
    assert_eq!(pattern.replace_all("aa", "bb", 3), Err(PatternError::TooMuchWork));
    assert_eq!(pattern.replace_all("xxxx", "", 3), Err(PatternError::TooMuchWork));
    assert_eq!(compiled("(?=a)").replace_all(&"a".repeat(20_000), "b", 1 << 20), Err(PatternError::TooMuchWork));
}
