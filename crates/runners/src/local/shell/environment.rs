//! Decides which inputs of a run become environment variables of its commands.
//!
//! The names of inputs are data, chosen by the caller of a run. A variable that a loader, an interpreter, a shell or a common tool reads
//! would let an input decide what runs, and a large value keeps every command from starting (`E2BIG`). Such inputs are passed in a file
//! instead.

use branchpoint_core::variables::{is_identifier, is_reserved};
use branchpoint_expr::{Object, Value};

/// The largest value of one variable, in bytes. Linux accepts 128 KiB for `NAME=value`.
const VALUE_BYTES: usize = 64 * 1024;

/// The largest size of all variables made of inputs, names included. Linux shares it with the arguments and the inherited
/// environment.
const TOTAL_BYTES: usize = 256 * 1024;

/// The inputs of a run, divided into environment variables and other inputs.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Divided {
    /// The variables, as name and value.
    pub(crate) variables: Vec<(String, String)>,
    /// The inputs that do not become variables, with the reason.
    pub(crate) left_out: Vec<(String, String)>,
}

/// Divides the text inputs of a run, in their order.
pub(crate) fn divide(inputs: &Object) -> Divided {
    let mut divided = Divided::default();
    let mut total = 0;
    for (name, value) in inputs {
        let value = value.to_string();
        // The system stores `NAME=value`, with a NUL at the end.
        let bytes = name.len() + value.len() + 2;
        let total_reason = || format!("the inputs together exceed {TOTAL_BYTES} bytes");
        let reason = reason(name, &value).or_else(|| (total + bytes > TOTAL_BYTES).then(total_reason));
        if let Some(reason) = reason {
            divided.left_out.push((name.to_string(), reason));
        } else {
            total += bytes;
            divided.variables.push((name.to_string(), value));
        }
    }
    divided
}

/// Why an input does not become an environment variable, for a warning.
fn reason(name: &str, value: &str) -> Option<String> {
    if !is_identifier(name) {
        Some("its name is not letters, digits and `_`".to_owned())
    } else if is_reserved(name) {
        Some("its name is reserved for shells and programs".to_owned())
    } else if value.len() > VALUE_BYTES {
        Some(format!("it has {} bytes, and at most {VALUE_BYTES} are passed", value.len()))
    } else if value.contains('\0') {
        Some("it holds a NUL character".to_owned())
    } else {
        None
    }
}

/// The inputs of these names as the text of a JSON object.
pub(crate) fn as_json(inputs: &Object, left_out: &[(String, String)]) -> String {
    let is_left_out = |name: &str| left_out.iter().any(|(known, _)| known == name);
    let fields = inputs.iter().filter(|(name, _)| is_left_out(name));
    Value::from(fields.map(|(name, value)| (name.clone(), value.clone())).collect::<Object>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(pairs: &[(&str, &str)]) -> Object {
        pairs.iter().map(|(name, value)| ((*name).into(), Value::from(*value))).collect()
    }

    #[track_caller]
    fn check(name: &str, value: &str, expect: Option<&str>) {
        let divided = divide(&inputs(&[(name, value)]));
        let reason = divided.left_out.first().map(|(_, reason)| reason.as_str());
        assert!(
            reason.is_some() == expect.is_some() && reason.unwrap_or_default().contains(expect.unwrap_or_default()),
            "{name}"
        );
        assert_eq!(divided.variables.len(), usize::from(expect.is_none()), "{name}");
    }

    #[test]
    fn an_ordinary_name_becomes_a_variable() {
        for name in [
            "title", "TITLE", "_x", "a1", "path", "home", "env", "user", "API_KEY", "python", "proxy", "GITHUB", "LDAP",
        ] {
            check(name, "x", None);
        }
    }

    #[test]
    fn a_name_that_is_not_an_identifier_is_left_out() {
        for name in ["", "1a", "a-b", "a.b", "a b", "a=b", "a\0b", "ä", "BASH_FUNC_ls%%", "BASH_FUNC_ls()", "x\n"] {
            check(name, "() { echo owned; }", Some("letters, digits"));
        }
    }

    #[test]
    fn a_reserved_name_is_left_out() {
        check("LD_PRELOAD", "x", Some("reserved"));
        check("PIP_INDEX_URL", "x", Some("reserved"));
    }

    #[test]
    fn a_value_is_bounded_alone_and_together_with_the_others() {
        check("most", &"x".repeat(VALUE_BYTES), None);
        check("more", &"x".repeat(VALUE_BYTES + 1), Some("it has 65537 bytes"));
        check("nul", "a\0b", Some("NUL"));
        let large = "x".repeat(VALUE_BYTES);
        let divided = divide(&inputs(&[("a", &large), ("b", &large), ("c", &large), ("d", &large), ("e", "small")]));
        assert_eq!(divided.left_out, [("d".to_owned(), "the inputs together exceed 262144 bytes".to_owned())]);
        assert_eq!(divided.variables.len(), 4, "a small input after a large one still fits");
    }

    #[test]
    fn inputs_left_out_are_written_as_json() {
        let all = inputs(&[("title", "x"), ("PYTHONHOME", "/tmp"), ("a-b", "\"")]);
        let divided = divide(&all);
        assert_eq!(as_json(&all, &divided.left_out), r#"{"PYTHONHOME":"/tmp","a-b":"\""}"#);
    }
}
