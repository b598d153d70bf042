//! The hash of what an approval shows, which binds a vote to what its voter saw.

use std::fmt::Write as _;
use std::sync::Arc;

use branchpoint_expr::Value;
use sha2::{Digest, Sha256};

use super::{Request, object};
use crate::codec::encode_program;
use crate::ir::Program;

impl Request {
    /// Fixes the hash of what is shown: the prompt, `show`, the form with its defaults, and the program.
    pub(crate) fn fix_shown_hash(&mut self, spec: &Value, program: &Program) {
        let Some(rules) = &mut self.rules else { return };
        let part = |key: &str| spec.get(key).cloned().unwrap_or_default();
        let shown = [part("prompt"), part("show"), rules.form.clone(), rules.defaults.clone()];
        let mut hash = Sha256::new();
        for value in shown {
            let text = format!("{value:?}");
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        hash.update(program.fingerprint());
        rules.shown_hash = hex(&hash.finalize()).into();
    }

    /// The request as people and hosts see it: with the recipients that were found, and without all groups of the operator.
    pub(crate) fn shown_spec(&self, spec: &Value) -> Value {
        let (Some(rules), Some(fields)) = (&self.rules, spec.as_object()) else { return spec.clone() };
        let mut fields = fields.clone();
        fields.shift_remove("rules");
        let users = |users: &[Arc<str>]| Value::from(users.iter().cloned().map(Value::Str).collect::<Vec<_>>());
        fields.insert("recipients".into(), users(&self.recipients));
        fields.extend(object([
            ("need", rules.need()),
            ("form", rules.form.clone()),
            ("defaults", rules.defaults.clone()),
            ("shown_hash", Value::Str(rules.shown_hash.clone())),
        ]));
        Value::from(fields)
    }
}

impl Program {
    /// A hash of the program, without the places and texts of its document: the format of a document means nothing.
    pub(crate) fn fingerprint(&self) -> &[u8; 32] {
        self.fingerprint.get_or_init(|| {
            // Every program that was loaded was encoded once.
            Sha256::digest(encode_program(&self.without_source()).unwrap_or_default()).into()
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
