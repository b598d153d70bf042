//! How secrets are kept out of explanations.

use branchpoint_core::Redact;
use branchpoint_expr::Value;

use crate::secrets::Secrets;

impl Redact for Secrets {
    fn value(&self, value: &Value) -> Value {
        self.mask_value(value)
    }

    fn text(&self, text: &str) -> String {
        self.mask(text).into_owned()
    }
}
