//! Compares integers with floats exactly, and parses decimal text.

use std::cmp::Ordering;

/// 2^63 as a float: the first value above every 64-bit integer.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

/// Converts a float to an integer if it is integral and in the 64-bit range.
#[expect(clippy::cast_possible_truncation, reason = "the comparison before it keeps the value in range")]
pub(crate) fn integral(float: f64) -> Option<i64> {
    (float.fract() == 0.0 && (-TOO_LARGE..TOO_LARGE).contains(&float)).then_some(float as i64)
}

/// Compares an integer with a finite float by value, without rounding either.
pub(crate) fn compare_int_float(int: i64, float: f64) -> Ordering {
    if float >= TOO_LARGE {
        return Ordering::Less;
    }
    if float < -TOO_LARGE {
        return Ordering::Greater;
    }
    let whole = integral(float.trunc()).unwrap_or_default();
    int.cmp(&whole).then_with(|| 0.0.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

/// A number read from text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Parsed {
    /// A whole number in the 64-bit range, exact.
    Int(i64),
    /// Any other finite number.
    Float(f64),
    /// A number beyond the range of floats.
    Overflow,
}

/// Parses decimal text: optional sign, ASCII digits, at most one point, optional exponent (`+5`, `007`, `.5`, `5.`, `1e3`).
/// Blanks, underscores, hex, other digits, `inf` and `nan` are rejected.
pub(crate) fn parse_decimal(text: &str) -> Option<Parsed> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits_only(whole) || !digits_only(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !digits_only(digits) {
            return None;
        }
    }
    if let Some(int) = exact_integer(text.starts_with('-'), whole, fraction, exponent) {
        return Some(Parsed::Int(int));
    }
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() => Some(Parsed::Float(float)),
        Ok(_) => Some(Parsed::Overflow),
        Err(_) => None,
    }
}

/// The integer with these digits, fraction and exponent, if it fits in 64 bits. It is computed without a float, which would
/// round.
fn exact_integer(negative: bool, whole: &str, fraction: &str, exponent: Option<&str>) -> Option<i64> {
    let exponent: i64 = exponent.map_or(Some(0), |exponent| exponent.parse().ok())?;
    let fraction = fraction.trim_end_matches('0');
    let mut digits = format!("{whole}{fraction}");
    let shift = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    if shift < 0 {
        let dropped = usize::try_from(shift.unsigned_abs()).ok().filter(|dropped| *dropped <= digits.len())?;
        let remaining = digits.len() - dropped;
        if digits[remaining..].bytes().any(|digit| digit != b'0') {
            return None;
        }
        digits.truncate(remaining);
    }
    let mut int: i64 = 0;
    for digit in digits.bytes().map(|byte| i64::from(byte - b'0')) {
        int = int.checked_mul(10)?.checked_add(if negative { -digit } else { digit })?;
    }
    for _ in 0..shift.max(0) {
        if int == 0 {
            break;
        }
        int = int.checked_mul(10)?;
    }
    Some(int)
}

/// Whether the text is `[+-]digits`.
pub(crate) fn is_integer_text(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<Parsed>) {
        assert_eq!(parse_decimal(text), expect, "{text}");
    }

    #[test]
    fn decimal_text_is_a_number_in_all_its_forms() {
        check("5", Some(Parsed::Int(5)));
        check("+5", Some(Parsed::Int(5)));
        check("-007", Some(Parsed::Int(-7)));
        check(".5", Some(Parsed::Float(0.5)));
        check("5.", Some(Parsed::Int(5)));
        check("1e3", Some(Parsed::Int(1000)));
        check("2.5e-2", Some(Parsed::Float(0.025)));
        check("9223372036854775807", Some(Parsed::Int(i64::MAX)));
        check("99999999999999999999", Some(Parsed::Float(1e20)));
        check("1e400", Some(Parsed::Overflow));
    }

    #[test]
    fn other_text_is_not_a_number() {
        for text in ["", ".", "e5", "1e", "1e+", "1_000", "0x1F", "inf", "nan", " 5", "5 ", "1.2.3", "+-5", "\u{663}"] {
            check(text, None);
        }
    }

    #[test]
    fn integers_and_floats_compare_without_rounding() {
        let near = 9_007_199_254_740_992.0;
        assert_eq!(compare_int_float(9_007_199_254_740_993, near), Ordering::Greater);
        assert_eq!(compare_int_float(9_007_199_254_740_992, near), Ordering::Equal);
        assert_eq!(compare_int_float(i64::MAX, TOO_LARGE), Ordering::Less);
        assert_eq!(compare_int_float(i64::MIN, -TOO_LARGE), Ordering::Equal);
        assert_eq!(compare_int_float(0, -0.0), Ordering::Equal);
        assert_eq!(compare_int_float(-1, -1.5), Ordering::Greater);
    }
}
