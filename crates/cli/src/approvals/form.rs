//! The form of a vote on the command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use branchpoint_core::{Approval, ApprovalForm, FormField};
use branchpoint_expr::{Object, Value, nearest};

use crate::source::Source;

/// The values of the form of a vote.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct FormArguments {
    /// Field of the approval's form; repeat it for several
    #[arg(long = "form", value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// Form as a JSON or YAML file
    #[arg(long = "form-file", value_name = "PATH")]
    file: Option<PathBuf>,
}

impl FormArguments {
    /// The form for a vote on an approval; none if nothing was given.
    pub(super) fn read(&self, approval: &Approval) -> Result<Option<Value>> {
        if self.fields.is_empty() && self.file.is_none() {
            return Ok(None);
        }
        let form = approval.form().context("the approval has no form; leave out --form and --form-file")?;
        let mut values = self.file.as_deref().map(file).transpose()?.unwrap_or_default();
        for typed in &self.fields {
            let (name, text) = typed
                .split_once('=')
                .with_context(|| format!("`--form {typed}` must be a field and a value, such as --form amount=100"))?;
            let field = field(&form, name)?;
            let value = field.read(text).map_err(|problem| anyhow!("{problem}"))?;
            values.insert(field.name.clone(), value);
        }
        Ok(Some(Value::from(values)))
    }
}

fn field<'f>(form: &'f ApprovalForm, name: &str) -> Result<&'f FormField> {
    let Some(field) = form.field(name) else {
        let names = || form.fields.iter().map(|field| &*field.name);
        let near = nearest(name, names()).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let names = names().collect::<Vec<_>>().join(", ");
        bail!("the form has no field `{name}`\nhelp: {near}its fields are {names}");
    };
    Ok(field)
}

fn file(path: &Path) -> Result<Object> {
    let source = Source::file(path)?;
    let document = branchpoint_dialects::read(&source.text)
        .map_err(|findings| anyhow!("{}: {}", path.display(), findings[0].message))?;
    let value = document.to_value();
    value.as_object().cloned().with_context(|| format!("{}: a form must be an object", path.display()))
}

/// The form as a person reads it: each field with its type and its proposed value.
pub(super) fn lines(form: &ApprovalForm, defaults: &Value) -> Vec<String> {
    let line = |field: &FormField| {
        let title = field.title.as_deref().map(|title| format!("{title}: ")).unwrap_or_default();
        let mut facts = vec![format!("{title}{}", field.ty.as_str())];
        if !field.options.is_empty() {
            let options = field.options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            facts.push(format!("one of {options}"));
        }
        match defaults.get(&field.name) {
            Some(default) => facts.push(format!("proposed: {default}")),
            None if field.is_required => facts.push("required".into()),
            None => {}
        }
        format!("{} ({})", field.name, facts.join(", "))
    };
    form.fields.iter().map(line).collect()
}

/// The required fields without a proposed value, which every vote that is not a no must have.
pub(super) fn missing(approval: &Approval) -> Vec<Arc<str>> {
    let Some(form) = approval.form() else { return Vec::new() };
    let defaults = approval.form_defaults();
    let missing = form.fields.iter().filter(|field| field.is_required && defaults.get(&field.name).is_none());
    missing.map(|field| field.name.clone()).collect()
}
