//! `branchpoint runs tag`: adds tags to a run and removes others.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_backend::Tags;
use branchpoint_expr::Value;

use crate::store_access::StoreAccess;
use crate::{json, terminal};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Id of the run, or a unique beginning or end of it
    run: String,

    /// `+TAG` adds a tag, `-TAG` removes one
    #[arg(value_name = "+TAG|-TAG", required = true, allow_hyphen_values = true, trailing_var_arg = true)]
    changes: Vec<String>,
}

pub(super) fn run(opened: &StoreAccess, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    let row = opened.run(&arguments.run)?;
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for change in &arguments.changes {
        if let Some(tag) = change.strip_prefix('+') {
            add.push(tag);
        } else if let Some(tag) = change.strip_prefix('-') {
            remove.push(tag);
        } else {
            bail!("`{change}` has no `+` or `-`\nhelp: write `+{change}` to add the tag, or `-{change}` to remove it");
        }
    }
    let tags = opened.store.tag(row.run, &Tags::new(add)?, &Tags::new(remove)?)?;
    if json {
        let tags = tags.as_slice().iter().map(|tag| Value::from(tag.as_str())).collect::<Vec<_>>();
        let summary = [("run", Value::from(row.id)), ("tags", Value::from(tags))];
        return terminal::print_json(&json::object(summary));
    }
    let tags = if tags.is_empty() { "none".to_owned() } else { tags.as_slice().join(", ") };
    terminal::print(&format!("Tags of run `{}`: {tags}\n", row.id))?;
    Ok(ExitCode::SUCCESS)
}
