//! Values that people must not see: masked in logs and traces, never in data.

use std::borrow::Cow;

use branchpoint_expr::Value;

const MASK: &str = "***";
const PREFIXES: [&str; 4] = ["SECRET_", "API_KEY", "PASSWORD", "TOKEN"];

/// The secret values of a run.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// The values of inputs whose name says that they are secret.
    pub fn of(inputs: &Value) -> Self {
        let fields = inputs.as_object().into_iter().flatten();
        let secret = fields.filter(|(name, _)| is_secret(name)).map(|(_, value)| value.to_string());
        Self::from_values(secret.collect())
    }

    /// These values, whatever they are called.
    pub fn from_values(mut values: Vec<String>) -> Self {
        values.retain(|value| !value.trim().is_empty());
        // The longest first: one secret may be the beginning of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// The text with every secret masked.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in &self.0 {
            if masked.contains(secret.as_str()) {
                masked = Cow::Owned(masked.replace(secret.as_str(), MASK));
            }
        }
        masked
    }
}

/// Whether a name says that its value is secret, in any case.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_by_the_names_of_inputs() {
        let inputs: Value =
            serde_json::from_str(r#"{"api_key_x": "abc", "TOKEN": "abcdef", "name": "abc-plain", "SECRET_": ""}"#)
                .expect("this is JSON");
        let secrets = Secrets::of(&inputs);
        assert_eq!(secrets.mask("abcdef, abc and d"), "***, *** and d");
        assert_eq!(secrets.mask("nothing"), "nothing");
    }
}
