//! Declared outputs: the values that a workflow returns to its callers.

use branchpoint_expr::{Kind, Located};

use super::tables::OUTPUT;
use super::{Findings, Text};
use crate::fields::{Access, Path};

/// One declared output.
#[derive(Debug)]
pub(in crate::machine) struct Output {
    pub(in crate::machine) name: Text,
    /// The expression of its value.
    pub(in crate::machine) from: Text,
}

impl Output {
    pub(super) fn all(document: &Located, findings: &mut Findings) -> Vec<Self> {
        let Some(outputs) = document.given("outputs") else { return Vec::new() };
        if outputs.items().is_none() {
            let message = "`outputs` is not a list and has no effect";
            findings.warn(Kind::UnknownKey, outputs.span, message).help = Some(
                "write a list of `{name, from}`, where `from` is an expression such as `states.build.Output`".into(),
            );
            return Vec::new();
        }
        document
            .list("outputs")
            .iter()
            .enumerate()
            .filter_map(|(at, output)| Self::read(at, output, findings))
            .collect()
    }

    fn read(at: usize, output: &Located, findings: &mut Findings) -> Option<Self> {
        let path = format!("outputs[{at}]");
        findings.check().object(Path::Root(&path), output, &[OUTPUT]);
        Some(Self { name: output.filled("name")?, from: output.filled("from")? })
    }
}
