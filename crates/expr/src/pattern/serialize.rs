//! Stores a pattern as its text and flavour. It is compiled again when it is loaded.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Engine, Pattern};

#[derive(Serialize, Deserialize)]
enum Flavour {
    Re2,
    Python,
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let flavour = match self.0.engine {
            Engine::Re2(_) => Flavour::Re2,
            Engine::Python(_) => Flavour::Python,
        };
        (flavour, self.as_str()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (flavour, text) = <(Flavour, String)>::deserialize(deserializer)?;
        let compiled = match flavour {
            Flavour::Re2 => Self::re2(&text),
            Flavour::Python => Self::python(&text),
        };
        compiled.map_err(D::Error::custom)
    }
}
