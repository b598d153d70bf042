//! What a call or a question is known by when a run is played again: a digest of what was asked, aside from secrets and from
//! moments of the run itself.

use branchpoint_expr::Value;
use sha2::{Digest, Sha256};

use super::moments::{Times, without_moments};
use branchpoint_runners::Call;
use branchpoint_runners::Secrets;
use branchpoint_runners::hexadecimal;

/// So many bytes of the digest tell the calls of one step apart.
const BYTES: usize = 8;

pub(crate) fn identity(call: &Call, mask: &Secrets, times: &[Times]) -> String {
    digest(call.kind().as_str(), &call.input, mask, times)
}

/// A question is what people read and can answer, whoever they are and however long they have.
pub(crate) fn identity_of_question(question: &Value, mask: &Secrets, times: &[Times]) -> String {
    let part = |key: &str| question.get(key).cloned().unwrap_or_default();
    digest("people", &Value::from(vec![part("prompt"), part("choices")]), mask, times)
}

fn digest(kind: &str, input: &Value, mask: &Secrets, times: &[Times]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(kind);
    feed(&mut hasher, &without_moments(&mask.mask_value(input), times));
    hexadecimal(&hasher.finalize()[..BYTES])
}

/// The value in one way only: the order of fields says nothing.
fn feed(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::List(items) => {
            hasher.update(format!("[{}", items.len()));
            items.iter().for_each(|item| feed(hasher, item));
        }
        Value::Object(fields) => {
            hasher.update(format!("{{{}", fields.len()));
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in fields {
                feed(hasher, &Value::Str(key.clone()));
                feed(hasher, value);
            }
        }
        leaf => {
            // Quoted, so that a text is no number, and none ends within another.
            let text = serde_json::to_string(leaf).unwrap_or_default();
            hasher.update(format!(",{text}"));
        }
    }
}
