//! Values out of texts: by a path in JSON, a selector in HTML, a way through XML. Nothing goes out for it.

use branchpoint_expr::Value;
use roxmltree::{Document, Node};

use super::failure::refused;
use super::page;
use crate::runner::{Answer, Call};

/// Performs `extract`. What is not there is null; one find is a value, several are a list.
pub(super) fn perform(call: &Call) -> Answer {
    let input = &call.input;
    let source = input.get("input").cloned().unwrap_or_default();
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let path = text("path").unwrap_or_default();
    let format = text("expected_format").map_or_else(|| guessed(&source), str::to_ascii_lowercase);
    let found = match &*format {
        "json" => json(&source, path),
        "html" => html(&source.to_string(), path),
        "xml" => xml(&source.to_string(), path),
        other => Err(format!("`{other}` is no format that values are taken out of; write html, json or xml")),
    };
    match found {
        Ok(value) => Answer::data(value),
        Err(message) => refused(message),
    }
}

fn guessed(source: &Value) -> String {
    let text = source.as_str().map(|text| text.trim_start().chars().take(64).collect::<String>().to_ascii_lowercase());
    let format = match text {
        Some(text) if text.starts_with("<?xml") => "xml",
        Some(text) if text.starts_with('<') => "html",
        _ => "json",
    };
    format.to_owned()
}

fn json(source: &Value, path: &str) -> Result<Value, String> {
    let value = match source.as_str() {
        Some(text) => parsed(text).ok_or("the text is not JSON, and holds no block of it")?,
        None => source.clone(),
    };
    Ok(walk(value, path))
}

/// JSON, or the first fenced block that is JSON, which is how models like to give it.
fn parsed(text: &str) -> Option<Value> {
    let value = |text: &str| serde_json::from_str(text.trim()).ok();
    let blocks = || text.split("```").skip(1).step_by(2);
    value(text).or_else(|| blocks().find_map(|block| value(block.split_once('\n').map_or(block, |(_, body)| body))))
}

/// `a.b[0].c`, `$.a.b` or `/a/b/0`; a key that holds a dot is written in brackets and quotes.
fn walk(value: Value, path: &str) -> Value {
    let steps = match path.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect(),
        None => dotted(path.strip_prefix('$').unwrap_or(path)),
    };
    steps.iter().fold(value, |value, key| {
        let item = || Some(value.as_list()?.get(key.parse::<usize>().ok()?)?.clone());
        value.as_object().and_then(|fields| fields.get(key.as_str()).cloned()).or_else(item).unwrap_or_default()
    })
}

fn dotted(path: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some((key, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            keys.push(key.trim_matches(['"', '\'']).to_owned());
            rest = after;
            continue;
        }
        let rest_of_key = rest.trim_start_matches(['.', '[']);
        let end = rest_of_key.find(['.', '[']).unwrap_or(rest_of_key.len());
        keys.extend((end > 0).then(|| rest_of_key[..end].to_owned()));
        rest = &rest_of_key[end..];
    }
    keys
}

fn html(source: &str, path: &str) -> Result<Value, String> {
    if path.is_empty() {
        return Ok(Value::from(page::text(source)?.as_str()));
    }
    Ok(few(page::select(source, path)?))
}

/// `a/b/c` from the root on, `//c` anywhere, `@name` at the end for an attribute.
fn xml(source: &str, path: &str) -> Result<Value, String> {
    let document = Document::parse(source.trim_start()).map_err(|error| format!("the text is not XML: {error}"))?;
    let (path, attribute) = match path.rsplit_once('@') {
        Some((path, name)) => (path.trim_end_matches('/'), Some(name)),
        None => (path, None),
    };
    let mut found = vec![document.root()];
    if let Some(anywhere) = path.strip_prefix("//") {
        let (name, rest) = anywhere.split_once('/').unwrap_or((anywhere, ""));
        found = document.root().descendants().filter(|node| named(node, name)).collect();
        found = below(found, rest);
    } else {
        found = below(found, path.trim_start_matches('/'));
        if path.is_empty() {
            found = vec![document.root_element()];
        }
    }
    Ok(few(match attribute {
        Some(name) => found.iter().filter_map(|node| node.attribute(name)).map(str::to_owned).collect(),
        None => found.iter().map(text_of).collect(),
    }))
}

fn below<'d, 's>(mut found: Vec<Node<'d, 's>>, path: &str) -> Vec<Node<'d, 's>> {
    for name in path.split('/').filter(|name| !name.is_empty()) {
        found = found.iter().flat_map(Node::children).filter(|node| named(node, name)).collect();
    }
    found
}

fn named(node: &Node<'_, '_>, name: &str) -> bool {
    node.is_element() && (name == "*" || node.tag_name().name() == name)
}

fn text_of(node: &Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text).filter_map(|node| node.text());
    texts.collect::<String>().trim().to_owned()
}

fn few(mut found: Vec<String>) -> Value {
    match found.len() {
        0 => Value::Null,
        1 => Value::from(found.remove(0).as_str()),
        _ => Value::from(found.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>()),
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
        let found = match format {
            "json" => json(&Value::from(source), path),
            "html" => html(source, path),
            _ => xml(source, path),
        };
        assert_eq!(found, Ok(value(expected)), "{path}");
    }

    #[test]
    fn paths_walk_json() {
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
    fn selectors_walk_html() {
        check("html", "<p>a</p><p>b</p>", "p", r#"["a", "b"]"#);
        check("html", "<p>a</p>", "p", r#""a""#);
        check("html", "<p>a</p>", "", r#""a""#);
        check("html", "<p>a</p>", "h1", "null");
    }

    #[test]
    fn ways_go_through_xml() {
        let source = r#"<?xml version="1.0"?><r><i k="1">a</i><i k="2">b<c>d</c></i></r>"#;
        check("xml", source, "r/i", r#"["a", "bd"]"#);
        check("xml", source, "/r/i/@k", r#"["1", "2"]"#);
        check("xml", source, "//c", r#""d""#);
        check("xml", source, "", r#""abd""#);
        check("xml", source, "x", "null");
        assert!(xml("<a>", "").is_err());
    }
}
