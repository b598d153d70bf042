//! Tests of masking, and of filling in secrets.

use super::*;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("this is JSON")
}

fn store() -> SecretStore {
    Arc::new(|name| (name != "NONE").then(|| format!("<{name}>")))
}

/// Texts at these paths.
fn texts(paths: &[&[PathKey]]) -> Vec<SecretText> {
    paths.iter().map(|path| SecretText::plain(path.to_vec())).collect()
}

#[track_caller]
fn check_resolved(input: &str, texts: &[SecretText], expect: &str) {
    let (resolved, _) = resolve(&json(input), texts, &store()).expect("all secrets are there");
    assert_eq!(resolved, json(expect));
}

#[test]
fn secrets_are_masked_by_the_names_of_inputs() {
    let secrets = Secrets::of(&json(r#"{"api_key_x": "abc", "TOKEN": "abcdef", "name": "abc-plain", "SECRET_": " "}"#));
    assert_eq!(secrets.mask("abcdef, abc and d"), "***, *** and d");
    assert_eq!(secrets.mask("nothing"), "nothing");
}

#[test]
fn secrets_are_added_from_several_sources_and_the_longest_is_masked_first() {
    let mut secrets = Secrets::of(&json(r#"{"TOKEN": "abc"}"#));
    secrets.add(["abcdef", "", "  "]);
    secrets.add(["xabcdefx".to_owned()]);
    assert_eq!(secrets.mask("xabcdefx abcdef abc x"), "*** *** *** x");
}

#[test]
fn values_are_masked_at_any_depth_and_in_keys() {
    let secrets = Secrets::of(&json(
        r#"{"PASSWORD": {"user": "ann", "codes": [4711, "x\"y"]}, "TOKEN_on": true, "TOKEN_n": null}"#,
    ));
    let value = json(r#"{"a": ["hi ann", 4711, 47110, true, null, {"ann": "x\"y"}], "n": 1.5}"#);
    let masked = json(r#"{"a": ["hi ***", "***", 47110, true, null, {"***": "***"}], "n": 1.5}"#);
    assert_eq!(secrets.mask_value(&value), masked);
    // The same as text of JSON, in which the quote is escaped.
    assert_eq!(secrets.mask(r#"{"k": "<x\"y>"}"#), r#"{"k": "<***>"}"#);
    assert_eq!(Secrets::default().mask_value(&value), value);
}

#[test]
fn a_secret_in_a_text_that_a_shell_reads_is_one_word() {
    let store: SecretStore = Arc::new(|_| Some("it's; ls".to_owned()));
    let mut texts = texts(&[&["command".into()], &["cwd".into()]]);
    texts[0].form = SecretForm::ShellWord;
    let input = json(r#"{"command": ["echo ", {"secret": "K"}, ""], "cwd": ["", {"secret": "K"}, ""]}"#);
    let (resolved, known) = resolve(&input, &texts, &store).expect("all secrets are there");
    assert_eq!(resolved.get("command"), Some(&Value::from(r"echo 'it'\''s; ls'")));
    assert_eq!(resolved.get("cwd"), Some(&Value::from("it's; ls")));
    assert_eq!(Secrets::from_values(known).mask(r"+ echo 'it'\''s; ls'"), "+ echo ***");
}

#[test]
fn secrets_are_filled_in_only_where_the_effect_says() {
    let spec = &texts(&[&["command".into()], &["headers".into(), "x/y".into(), PathKey::Item(1)]]);
    check_resolved(
        r#"{"command": ["a ", {"secret": "K"}, " b ", {"secret": "L"}, ""], "headers": {"x/y": ["q", ["", {"secret": "M"}, "!"]]}}"#,
        spec,
        r#"{"command": "a <K> b <L>", "headers": {"x/y": ["q", "<M>!"]}}"#,
    );
    // Values that are not a list of parts, or are missing, stay.
    check_resolved(r#"{"command": "x", "headers": null}"#, spec, r#"{"command": "x", "headers": null}"#);
    check_resolved(r#"{"headers": {"x/y": []}}"#, spec, r#"{"headers": {"x/y": []}}"#);
}

#[test]
fn data_never_names_a_secret() {
    // Neither text that looks like a reference, nor a value that looks like one, nor a part that data has filled.
    check_resolved(
        r#"{"command": ["{{secret.K}}", {"secret": "L"}, {"secret": "K"}], "data": ["", {"secret": "K"}, ""]}"#,
        &texts(&[&["command".into()]]),
        r#"{"command": "{{secret.K}}<L>{\"secret\":\"K\"}", "data": ["", {"secret": "K"}, ""]}"#,
    );
    check_resolved(r#"{"command": ["", {"secret": "K"}, ""]}"#, &[], r#"{"command": ["", {"secret": "K"}, ""]}"#);
}

#[test]
fn a_secret_that_is_missing_is_named() {
    let input = json(r#"{"command": ["", {"secret": "NONE"}, ""]}"#);
    let mut texts = texts(&[&["command".into()]]);
    let resolved = resolve(&input, &texts, &store());
    assert_eq!(
        resolved,
        Err("the secret `NONE` is not set; set it in the environment or in the file of `[secrets]`".to_owned())
    );
    let commented = json(r#"{"command": ["true # ", {"secret": "K"}, ""]}"#);
    texts[0].form = SecretForm::ShellWord;
    let resolved = resolve(&commented, &texts, &store());
    assert_eq!(resolved, Err("the secret `K` cannot be put into a comment".to_owned()));
}

#[test]
fn a_possible_beginning_of_a_secret_is_held_back() {
    let mut secrets = Secrets::default();
    secrets.add(["abcdef", "abc", "ëx", "cab"]);
    for (text, hidden_from) in [("", 0), ("x", 1), ("xab", 1), ("xabc", 1), ("abcdef", 6), ("ë", 0), ("abcdeg", 6)] {
        assert_eq!(secrets.partial_secret(text).hidden_from, hidden_from, "{text}");
    }
    // The last letter begins another secret, and lies in one that is whole.
    assert_eq!(secrets.partial_secret("--abcdef--cabc").hidden_from, 10);
    assert_eq!(Secrets::default().partial_secret("abc").hidden_from, 3);
}

#[track_caller]
fn check_encoded(secret: &str, text: &str, expect: &str) {
    assert_eq!(Secrets::from_values([secret.to_owned()]).mask(text), expect, "{secret} in {text}");
}

#[test]
fn secrets_are_masked_in_urls() {
    check_encoded("p@ss w/rd", "a=p%40ss%20w%2Frd&b", "a=***&b");
    check_encoded("p@ss w/rd", "a=p%40ss+w%2frd&b", "a=***&b");
    check_encoded("p@ss w/rd", "/p@ss%20w%2Frd/", "/***/");
    check_encoded("p@ss w/rd", "/p@ss%20w/rd/", "/***/");
    check_encoded("grün!", "gr%C3%BCn! gr%c3%bcn%21", "*** ***");
    check_encoded("0", "%30 10", "%3*** 1***");
}

#[test]
fn secrets_are_masked_in_base64_at_every_alignment() {
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
    let secret = "hunter2?>~secret";
    for before in ["", "a", "ab", "abc", "user:"] {
        for after in ["", "z", "yz", "xyz"] {
            let text = format!("{before}{secret}{after}");
            for encoded in [BASE64_STANDARD.encode(&text), BASE64_URL_SAFE.encode(&text)] {
                let secrets = Secrets::from_values([secret.to_owned()]);
                let masked = secrets.mask(&encoded).into_owned();
                let left = masked.replace("***", "");
                assert!(
                    masked.contains("***") && left.len() <= encoded.len() - 19,
                    "{text}: {encoded} became {masked}"
                );
            }
        }
    }
    // So short a secret occurs in base64 by accident.
    check_encoded("abc", "YWJj", "YWJj");
}

/// Breaks a text into lines of `columns` letters.
pub(super) fn wrap(text: &str, columns: usize, line_break: &str) -> String {
    let lines: Vec<&str> = (0..text.len()).step_by(columns).map(|at| &text[at..text.len().min(at + columns)]).collect();
    lines.join(line_break)
}

#[test]
fn secrets_are_masked_in_base64_and_hexadecimal_on_several_lines() {
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
    for length in [48, 57, 58, 60, 200] {
        let secret: String = ('!'..='~').cycle().step_by(7).take(length).collect();
        let secrets = Secrets::from_values([secret.clone()]);
        for before in ["", "a", "ab", &"x".repeat(50)] {
            let text = format!("{before}{secret}yz");
            let hex = crate::hexadecimal(text.as_bytes());
            for (encoded, letters) in [
                (BASE64_STANDARD.encode(&text), 4 * length / 3 - 3),
                (BASE64_URL_SAFE.encode(&text), 4 * length / 3 - 3),
                (hex, 2 * length),
            ] {
                for (columns, line_break) in
                    [(76, "\n"), (76, "\r\n"), (64, "\n"), (60, "\n  "), (76, "\\n"), (4, "\n")]
                {
                    let wrapped = wrap(&encoded, columns, line_break);
                    let masked = secrets.mask(&wrapped).into_owned();
                    let left = masked.replace("***", "").replace(line_break, "").len();
                    assert!(left + letters <= encoded.len(), "{length} {before} {wrapped} became {masked}");
                    let cut = format!("{}… (12)", &wrapped[..wrapped.len() - 6]);
                    let masked = secrets.mask(&cut).into_owned();
                    assert!(masked.len() <= cut.len() - letters + 16, "{cut} became {masked}");
                }
            }
        }
    }
}

#[test]
fn lines_that_are_not_the_secret_stay() {
    let secrets = Secrets::from_values(["hunter2-secret".to_owned()]);
    // The same letters with a gap that no encoder writes, and the plain secret on two lines.
    for text in ["aHVudGVy\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nMi1zZWNyZXQ=", "hunter2\n-secret"] {
        assert_eq!(secrets.mask(text), text);
    }
    assert_eq!(secrets.mask("aHVudGVy\n\nMi1zZWNyZXQ="), "***Q=");
}

#[test]
fn overlapping_secrets_are_masked_completely() {
    let secrets = Secrets::from_values(["abc".to_owned(), "bcdef".to_owned()]);
    assert_eq!(secrets.mask("xabcdefx"), "x***x");
    assert_eq!(secrets.mask("abcabc"), "******");
}

#[test]
fn the_beginning_of_an_encoded_secret_is_held_back() {
    let secrets = Secrets::from_values(["p@ss".to_owned()]);
    assert_eq!(secrets.partial_secret("a=p%4").hidden_from, 2);
    assert_eq!(secrets.partial_secret("a=p%40ss").hidden_from, 8);
}

#[test]
fn secrets_are_masked_in_hexadecimal_and_in_json_of_any_writer() {
    check_encoded("p@ss<é>", "x 7040737 70407373 x", "x 7040737 70407373 x");
    check_encoded("p@ss<é>", "x 704073733cc3a93e 704073733CC3A93E", "x *** ***");
    check_encoded("a/b\"<é>\n", r#"{"k": "a/b\"<é>\n"}"#, r#"{"k": "***"}"#);
    check_encoded("a/b\"<é>\n", r#"{"k": "a\/b\"<\u00e9>\n"}"#, r#"{"k": "***"}"#);
    check_encoded("a/b\"<é>\n", r#"{"k": "a/b\"\u003C\u00E9\u003E\n"}"#, r#"{"k": "***"}"#);
    check_encoded("a/b\"<é>\n", r#"{"k": "a/b\"\u003cé\u003e\n"}"#, r#"{"k": "***"}"#);
    // So short a secret occurs in hexadecimal by accident.
    check_encoded("abc", "616263", "616263");
}

#[test]
fn the_beginning_of_a_secret_is_masked_in_a_truncated_value() {
    let secret = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
    let secrets = Secrets::from_values([secret.to_owned()]);
    for length in 3..secret.len() {
        let beginning = &secret[..length];
        assert_eq!(secrets.mask(&format!("x is {beginning}… (82 characters)")), "x is ***… (82 characters)");
        assert_eq!(secrets.mask(&format!("x is \"a {beginning}\"… (9)")), "x is \"a ***\"… (9)");
    }
    // Without the mark, the value is not truncated.
    assert_eq!(secrets.mask("eyJhbGciOiJIUzI1"), "eyJhbGciOiJIUzI1");
    assert_eq!(secrets.mask("they… and eyJ…, ey…"), "they… and ***…, ey…");
}

#[test]
fn every_encoding_is_found_again_by_its_name() {
    let secrets = ["a/b c\"<é>&+~'long enough".to_owned()];
    let finder = Finder::of(&secrets).expect("there is a secret");
    let mut count = 0;
    for encoding in Encoding::all() {
        assert_eq!(Encoding::named(&encoding.to_string()), Some(encoding));
        let text = encoding.write(&secrets[0]).expect("it is neither short nor large");
        let matches = finder.forms_in(&text);
        assert_eq!(matches.len(), 1, "{encoding:?}: {text}");
        assert_eq!(matches[0].encoding.write(&secrets[0]), Some(text), "{encoding:?}");
        count += 1;
    }
    assert_eq!(count, 45);
}

#[test]
fn secret_names_inside_inputs_count_too() {
    let secrets = Secrets::of(&json(
        r#"{"metadata": {"api_key": "abcd", "token_count": 5, "x": [{"TOKEN": ["efgh"]}]}, "name": "abcd"}"#,
    ));
    assert_eq!(secrets.values(), ["abcd", "efgh"]);
}

#[test]
fn a_secret_that_is_truncated_by_the_output_limit_is_masked_at_every_offset() {
    let secrets = Secrets::from_values(["hunter2-and-more".to_owned()]);
    for length in 1..16 {
        let stdout = format!("said {}", &"hunter2-and-more"[..length]);
        for (cut, shown) in [(Some(Stream::Out), "said ***"), (None, &*stdout)] {
            let answer = |stdout: &str| Answer::Process(ProcessResult { cut, ..ProcessResult::new(0, stdout, "") });
            assert_eq!(secrets.mask_answer(answer(&stdout)), answer(shown));
        }
    }
}
