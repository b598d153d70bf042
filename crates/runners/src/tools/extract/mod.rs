//! Extracts values from texts: by a path in JSON, a selector in HTML, or a path in XML. It makes no requests.

mod json;
mod xml;

use branchpoint_core::effect::ExtractRequest;
use branchpoint_expr::Value;

use super::failure::refused;
use super::page;
use crate::json_block;
use crate::runner::Answer;

/// The most work of one path, in visited nodes and found bytes. Found elements may contain each other, so their texts together can be far
/// longer than the source.
const MAX_WORK: usize = 100_000_000;

/// Counts the work of one extraction.
pub(super) struct Work {
    limit: usize,
    left: usize,
}

impl Work {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, left: limit }
    }

    pub(super) fn spend(&mut self, amount: usize) -> Result<(), String> {
        let left = self.left.checked_sub(amount).ok_or_else(|| {
            format!("the path visits and finds more than {} nodes and bytes; make it more specific", self.limit)
        })?;
        self.left = left;
        Ok(())
    }
}

/// Performs `extract`. No match gives null, one match a value, several a list.
pub(super) fn perform(request: &ExtractRequest) -> Result<Answer, Answer> {
    let ExtractRequest { source, format, path } = request;
    let path = path.as_deref().unwrap_or_default().trim();
    let format = format.as_deref().map(str::trim).filter(|format| !format.is_empty());
    let format = format.map_or_else(|| guess_format(source), str::to_ascii_lowercase);
    let extracted = match &*format {
        "json" => json(source, path),
        "html" => html(&source.to_string(), path),
        "xml" => xml(&source.to_string(), path),
        other => Err(unsupported_format(other)),
    };
    extracted.map(Answer::data).map_err(refused)
}

fn guess_format(source: &Value) -> String {
    let text = source.as_str().map(|text| text.trim_start().chars().take(64).collect::<String>().to_ascii_lowercase());
    let format = match text {
        Some(text) if text.starts_with("<?xml") => "xml",
        Some(text) if text.starts_with('<') => "html",
        _ => "json",
    };
    format.to_owned()
}

/// Why `extract` would always fail: a format or a path that is known before the run is invalid.
pub(super) fn unavailable_reason(request: &ExtractRequest) -> Option<String> {
    let path = request.path.as_deref()?.trim();
    match request.format.as_deref()?.trim().to_ascii_lowercase().as_str() {
        "json" => json::Path::parse(path).err(),
        "html" if path.is_empty() => None,
        "html" => page::Selection::parse(path).err(),
        "xml" => xml::Path::parse(path).err(),
        other => Some(unsupported_format(other)),
    }
}

fn unsupported_format(name: &str) -> String {
    format!("`{name}` is not a supported format; use html, json or xml")
}

fn json(source: &Value, path: &str) -> Result<Value, String> {
    let path = json::Path::parse(path)?;
    let value = match source.as_str() {
        Some(text) => json_block::json(text).ok_or("the text is not JSON and has no fenced JSON block")?.1,
        None => source.clone(),
    };
    Ok(null_one_or_list(path.find(&value, &mut Work::new(MAX_WORK))?))
}

fn html(source: &str, path: &str) -> Result<Value, String> {
    if path.is_empty() {
        return Ok(Value::from(page::text(source)?.as_str()));
    }
    Ok(texts(page::Selection::parse(path)?.find(source, &mut Work::new(MAX_WORK))?))
}

fn xml(source: &str, path: &str) -> Result<Value, String> {
    let path = xml::Path::parse(path)?;
    Ok(texts(path.find(&xml::parse(source)?, &mut Work::new(MAX_WORK))?))
}

fn texts(found: Vec<String>) -> Value {
    null_one_or_list(found.into_iter().map(Value::from).collect())
}

fn null_one_or_list(mut values: Vec<Value>) -> Value {
    match values.len() {
        0 => Value::Null,
        1 => values.remove(0),
        _ => Value::from(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).expect("this is JSON")
    }

    #[track_caller]
    fn check(format: &str, source: &str, path: &str, expected: &str) {
        let extracted = match format {
            "json" => json(&Value::from(source), path),
            "html" => html(source, path),
            _ => xml(source, path),
        };
        assert_eq!(extracted, Ok(value(expected)), "{path}");
    }

    #[test]
    fn json_paths_find_values() {
        let source = r#"{"a": {"b": [1, {"c.d": 2}]}, "e/f": 3}"#;
        check("json", source, "", source);
        check("json", source, "a.b[0]", "1");
        check("json", source, "$.a.b.0", "1");
        check("json", source, r#"a.b[1]["c.d"]"#, "2");
        check("json", source, "/a/b/1/c.d", "2");
        check("json", source, "/e~1f", "3");
        check("json", source, "a.x.y", "null");
        check("json", "so:\n```json\n{\"a\": 1}\n```\n", "a", "1");
        assert!(json(&Value::from("no"), "a").is_err());
    }

    #[test]
    fn json_paths_find_several_values() {
        let source = r#"{"a": [{"b": 1}, {"b": 2, "c": {"b": 3}}], "b]": 4, "x": {"a": 5}}"#;
        check("json", source, "a[*].b", "[1, 2]");
        check("json", source, "$.a.*.b", "[1, 2]");
        check("json", source, "$..b", "[1, 2, 3]");
        check("json", source, "a..b", "[1, 2, 3]");
        check("json", source, "$..a[-1].c.b", "3");
        check("json", source, r#"["b]"]"#, "4");
        check("json", source, "$", source);
        check("json", source, "a[*].x", "null");
        for (bad, part) in [
            ("a[?(@.b > 1)]", "[?(@.b > 1)]"),
            ("a[0:2]", "[0:2]"),
            ("a[", "["),
            (r#"a["b]"#, r#"["b]"#),
            ("a...b", ".."),
            ("a.", "."),
            ("a..", ".."),
            ("length(a)", "length(a)"),
        ] {
            let refused = json(&value(source), bad).expect_err(bad);
            assert!(refused.starts_with(&format!("`{part}` in the path `{bad}`")), "{refused}");
        }
    }

    #[test]
    fn each_value_is_found_once_up_to_a_limit() {
        check("json", r#"{"a": {"a": {"a": 1}}}"#, "$..a..a", r#"[{"a": 1}, 1]"#);
        check("json", "[[1], [1], 2]", "$..*", "[[1], [1], 2, 1, 1]");
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let values = json(&Value::from(nested), "$..*..*..*..*").expect("it is found");
        assert_eq!(values.as_list().map(<[Value]>::len), Some(96));
        // It is small, but contains an enormous number of values.
        let folded = (0..64).fold(Value::from("x"), |value, _| Value::from(vec![value.clone(), value]));
        let refused = json(&folded, "$..*").expect_err("it is too much");
        assert!(refused.contains("more than 1000000 values"), "{refused}");
        // Shared parts are at two places.
        let shared = Value::from([("b".into(), Value::Int(1))].into_iter().collect::<branchpoint_expr::Object>());
        assert_eq!(json(&Value::from(vec![shared.clone(), shared]), "$..b"), Ok(value("[1, 1]")));
    }

    #[test]
    fn a_path_causes_a_limited_amount_of_work() {
        #[track_caller]
        fn check(limit: usize, find: impl Fn(&mut Work) -> Result<usize, String>, found: usize) {
            assert_eq!(find(&mut Work::new(limit)), Ok(found));
            let refused = find(&mut Work::new(limit / 2)).expect_err("the work exceeds the limit");
            assert!(refused.contains("make it more specific"), "{refused}");
        }
        let html = |path: &str, source: String| {
            let path = page::Selection::parse(path).expect("this is a selector");
            move |work: &mut Work| path.find(&source, work).map(|found| found.len())
        };
        // Elements in each other repeat the text that they contain.
        let nested = format!("{}{}", "<div>".repeat(100), "x".repeat(1000));
        check(110_000, html("div", nested), 100);
        check(30_000, html(&["b"; 100].join(","), "<p>".repeat(200)), 0);
        check(30_000, html(&format!("b{}", "[x]".repeat(100)), "<p>".repeat(200)), 0);
        let xml = |path: &str, source: String| {
            let path = xml::Path::parse(path).expect("this is a path");
            move |work: &mut Work| path.find(&xml::parse(&source)?, work).map(|found| found.len())
        };
        let nested = format!("{}{}{}", "<a>".repeat(100), "x".repeat(1000), "</a>".repeat(100));
        check(110_000, xml("//a", nested.clone()), 100);
        check(10_000, xml(&format!("{}/@k", "//a".repeat(50)), nested), 0);
        let nested = |inner: &str| value(&format!("{}{inner}{}", "[".repeat(100), "]".repeat(100)));
        let (long, all) = (nested(&format!("{:?}", "x".repeat(1000))), json::Path::parse("..*"));
        let all = all.expect("this is a path");
        check(150_000, |work| all.find(&long, work).map(|found| found.len()), 100);
        let (nested, path) = (nested(""), json::Path::parse(&"..*".repeat(50)));
        let path = path.expect("this is a path");
        check(30_000, |work| path.find(&nested, work).map(|found| found.len()), 50);
    }

    #[test]
    fn xml_with_many_attributes_or_prefixes_is_refused() {
        let attributes = |name: &str, count: usize| {
            let attribute = |n| format!(" {name}{n}='a=b>'");
            (0..count).map(attribute).collect::<Vec<_>>().concat()
        };
        check("xml", &format!("<r{}>x</r>", attributes("a", 256)), "r", r#""x""#);
        check("xml", &format!("<r><!--{}-->x</r>", "=".repeat(1000)), "r", r#""x""#);
        check("xml", &format!("<r>{}</r>", "<i xmlns:a='b'>x</i>".repeat(300)), "r/i[2]", r#""x""#);
        let [first, second] = ["xmlns:a", "xmlns:b"].map(|name| format!("<i{}/>", attributes(name, 200)));
        for many in [format!("<r{}/>", attributes("a", 257)), format!("<r>{first}{second}</r>")] {
            let refused = xml(&many, "r").expect_err("it has too many");
            assert!(refused.contains("more than 256"), "{refused}");
        }
    }

    #[test]
    fn html_selectors_find_elements() {
        check("html", "<p>a</p><p>b</p>", "p", r#"["a", "b"]"#);
        check("html", "<p>a</p>", "p", r#""a""#);
        check("html", "<p>a</p>", "", r#""a""#);
        check("html", "<p>a</p>", "h1", "null");
        check("html", "<a href='x,y'>a</a><b>c</b>", "a[href='x,y']", r#""a""#);
        check("html", "<a href='x,y'>a</a><b>c</b>", "a[href='x,y'], b", r#"["a", "c"]"#);
        check("html", "<a href='x]y'>a</a>", r#"a[href="x]y"]@href"#, r#""x]y""#);
    }

    #[test]
    fn xml_paths_find_elements_and_attributes() {
        let source = r#"<?xml version="1.0"?><r><i k="1">a</i><i k="2">b<c>d</c></i></r>"#;
        check("xml", source, "r/i", r#"["a", "bd"]"#);
        check("xml", source, "/r/i/@k", r#"["1", "2"]"#);
        check("xml", source, "//c", r#""d""#);
        check("xml", source, "", r#""abd""#);
        check("xml", source, "x", "null");
        assert!(xml("<a>", "").is_err());
    }

    #[test]
    fn xml_paths_filter_by_position_attribute_and_prefix() {
        let source =
            r#"<r xmlns:n="urn:n"><i k="1">a</i><i k="2">b<c>d</c></i><s><i k="2" n:k="3">e</i></s><n:i>f</n:i></r>"#;
        check("xml", source, "/r/i[2]", r#""bd""#);
        check("xml", source, "r/i[last()]", r#""f""#);
        check("xml", source, "r//i", r#"["a", "bd", "e", "f"]"#);
        check("xml", source, "//i[1]", r#"["a", "e"]"#);
        check("xml", source, r#"//i[@k="2"]"#, r#"["bd", "e"]"#);
        check("xml", source, "//i[@k='2'][1]/c", r#""d""#);
        check("xml", source, "//i[@k]/text()", r#"["a", "b", "e"]"#);
        check("xml", source, "r/n:i", r#""f""#);
        check("xml", source, "r/m:i", "null");
        check("xml", source, "//i/@n:k", r#""3""#);
        check("xml", source, "//@k", r#"["1", "2", "2"]"#);
        check("xml", source, "/r/*/*", r#"["d", "e"]"#);
        check("xml", source, "/", r#""abdef""#);
        for (bad, part) in [
            ("r/i[position() > 1]", "[position() > 1]"),
            ("r/i[0]", "[0]"),
            ("r/ancestor::x", "ancestor::x"),
            ("r/..", ".."),
            ("count(//i)", "count(//i)"),
            ("r/i | r/s", " | r/s"),
            ("r/@k/i", "@k/i"),
            ("r///i", "///i"),
            ("r/", "/"),
            ("r/i[@k=2]", "[@k=2]"),
        ] {
            let refused = xml(source, bad).expect_err(bad);
            assert!(refused.starts_with(&format!("`{part}` in the path `{bad}`")), "{refused}");
        }
    }

    #[test]
    fn a_document_may_have_a_doctype_but_no_entities() {
        check("xml", "<?xml version=\"1.0\"?>\n<!DOCTYPE r SYSTEM \"r.dtd\"><r>a</r>", "r", r#""a""#);
        check("xml", "<!DOCTYPE r [<!ELEMENT r (#PCDATA)>]><r>a</r>", "r", r#""a""#);
        let unfolding = "<!DOCTYPE r [<!ENTITY a \"aaaa\">]><r>&a;&a;</r>";
        assert!(xml(unfolding, "r").is_err_and(|why| why.contains("entities")));
    }
}
