//! Resolves scalars by the YAML 1.2 core schema.

use std::sync::Arc;

use branchpoint_expr::Shape;

/// 2^63 as a float: the first value above every 64-bit integer.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

/// The meaning of text without quotes.
#[derive(Debug)]
pub(super) enum PlainScalar {
    /// Null, a boolean or a number.
    Value(Shape),
    /// A number that is not a JSON value: `.inf`, `.nan`, `1e400`.
    Unbounded,
    /// Text.
    Text,
}

/// Resolves text without quotes.
pub(super) fn plain(text: &str) -> PlainScalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => PlainScalar::Value(Shape::Null),
        "true" | "True" | "TRUE" => PlainScalar::Value(Shape::Bool(true)),
        "false" | "False" | "FALSE" => PlainScalar::Value(Shape::Bool(false)),
        _ => number(text),
    }
}

/// Text that begins at `start`, verbatim if the source has the same characters there.
pub(super) fn text_at(source: &str, text: &Arc<str>, start: usize) -> Shape {
    let is_verbatim = source.get(start..).is_some_and(|rest| rest.starts_with(&**text));
    Shape::Str { text: Arc::clone(text), verbatim: u32::try_from(start).ok().filter(|_| is_verbatim) }
}

fn number(text: &str) -> PlainScalar {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return PlainScalar::Unbounded;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        return PlainScalar::Text;
    }
    if let Ok(int) = text.parse() {
        return PlainScalar::Value(Shape::Int(int));
    }
    // With these characters, Rust and the core schema have the same floats.
    let Ok(float) = text.parse::<f64>() else { return PlainScalar::Text };
    // An integer above 64 bits must not return to the range by rounding.
    let beyond = unsigned.bytes().all(|byte| byte.is_ascii_digit());
    finite(float, beyond)
}

/// Digits with the prefix of their base. The core schema gives them no sign.
fn radix(digits: &str, base: u32) -> PlainScalar {
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return PlainScalar::Text;
    }
    if let Ok(int) = i64::from_str_radix(digits, base) {
        return PlainScalar::Value(Shape::Int(int));
    }
    let digits = digits.chars().filter_map(|digit| digit.to_digit(base));
    finite(digits.fold(0.0, |sum, digit| sum * f64::from(base) + f64::from(digit)), true)
}

#[expect(clippy::cast_possible_truncation, reason = "the comparison before it keeps the value in range")]
fn finite(float: f64, beyond: bool) -> PlainScalar {
    if !float.is_finite() {
        PlainScalar::Unbounded
    } else if !beyond && float.fract() == 0.0 && (-TOO_LARGE..TOO_LARGE).contains(&float) {
        PlainScalar::Value(Shape::Int(float as i64))
    } else {
        PlainScalar::Value(Shape::Float(float))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let meaning = match plain(text) {
            PlainScalar::Value(shape) => format!("{shape:?}"),
            other => format!("{other:?}"),
        };
        assert_eq!(meaning, expect, "{text}");
    }

    #[test]
    fn null_and_booleans_have_three_cases_each() {
        for text in ["", "~", "null", "Null", "NULL"] {
            check(text, "Null");
        }
        for text in ["true", "True", "TRUE"] {
            check(text, "Bool(true)");
        }
        for text in ["false", "False", "FALSE"] {
            check(text, "Bool(false)");
        }
        for text in ["nULL", "tRUE", "yes", "no", "on", "off", "y", "n", "Yes", "NO"] {
            check(text, "Text");
        }
    }

    #[test]
    fn whole_numbers_are_integers_however_they_are_written() {
        check("7", "Int(7)");
        check("+7", "Int(7)");
        check("-7", "Int(-7)");
        check("007", "Int(7)");
        check("-0", "Int(0)");
        check("7.0", "Int(7)");
        check("7.", "Int(7)");
        check("1e3", "Int(1000)");
        check("-0.0", "Int(0)");
        check("0o17", "Int(15)");
        check("0xfF", "Int(255)");
        check("9223372036854775807", "Int(9223372036854775807)");
        check("-9223372036854775808", "Int(-9223372036854775808)");
    }

    #[test]
    fn other_numbers_are_floats() {
        check("1.5", "Float(1.5)");
        check(".5", "Float(0.5)");
        check("-2.5e-3", "Float(-0.0025)");
        check("9223372036854775808", "Float(9.223372036854776e18)");
        check("-9223372036854775809", "Float(-9.223372036854776e18)");
        check("0xffffffffffffffff", "Float(1.8446744073709552e19)");
        check("1e300", "Float(1e300)");
    }

    #[test]
    fn what_only_looks_like_a_number_is_text() {
        for text in [".", "-", "+", "e5", "1e", "1.2.3", "1_000", "0b11", "0x", "0xg", "-0x1", "0o8", "1:30", "12e03.5"]
        {
            check(text, "Text");
        }
        for text in ["inf", "nan", "infinity", "-inf", "+.nan", "２"] {
            check(text, "Text");
        }
    }

    #[test]
    fn numbers_that_json_does_not_have_are_refused() {
        for text in [".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN", "1e400", "-1e999"] {
            check(text, "Unbounded");
        }
    }
}
