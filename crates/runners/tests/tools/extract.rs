//! Extraction of values from texts.

use branchpoint_expr::Value;
use branchpoint_runners::runtime;

use super::{call, failure, judged, perform, tools, value};

#[test]
fn the_format_is_given_or_detected() {
    let tools = tools("");
    for (input, expected) in [
        (r#"{"format": "html", "path": "b", "source": "<p><b>x</b></p>"}"#, r#""x""#),
        (r#"{"path": "b", "source": "<p><b>x</b></p>"}"#, r#""x""#),
        (r#"{"format": "JSON", "path": "a.0", "source": "{\"a\": [5]}"}"#, "5"),
        (r#"{"path": "a", "source": {"a": {"b": 1}}}"#, r#"{"b": 1}"#),
        (r#"{"path": "r/@k", "source": "<?xml version=\"1.0\"?><r k=\"v\"/>"}"#, r#""v""#),
        (r#"{"path": "a.b", "source": "{}"}"#, "null"),
    ] {
        assert_eq!(judged(&tools, &call("extract", "{}", input)), value(expected), "{input}");
    }
    for (spec, expected) in [
        (r#"{"format": "json", "path": "a[?(@.b)]"}"#, "`[?(@.b)]`"),
        (r#"{"format": "xml", "path": "a/count()"}"#, "`count()`"),
        (r#"{"format": "html", "path": "li:first-child"}"#, "`li:first-child`"),
        (r#"{"format": "csv", "path": "a"}"#, "`csv`"),
    ] {
        let reason = runtime()
            .block_on(tools.unavailable_reason(&super::effect("extract", &format!(r#"{{"fixed": {spec}}}"#))))
            .unwrap_or_default();
        assert!(reason.contains(expected), "{spec}: {reason}");
    }
    assert_eq!(
        runtime().block_on(
            tools.unavailable_reason(&super::effect("extract", r#"{"fixed": {"format": "xml", "path": "//a[2]"}}"#))
        ),
        None
    );
    let failed = failure(perform(&tools, &call("extract", "{}", r#"{"format": "csv", "source": "a"}"#)));
    assert!(failed.message.contains("`csv`") && !failed.retry.allows_retry(), "{failed:?}");
    let deep = Value::from("<a>".repeat(100_000).as_str()).to_string();
    let deep = format!(r#"{{"format": "xml", "source": "{deep}"}}"#);
    failure(perform(&tools, &call("extract", "{}", &deep)));
}
