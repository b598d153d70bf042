//! `branchpoint new`: a workflow to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use branchpoint_expr::{Diagnostic, Kind, Span};

use crate::terminal;

/// The workflows that people start from: their names, what they show, and their texts.
const TEMPLATES: [(&str, &str, &str); 5] = [
    ("hello", "two steps and nothing outside: runs at once", include_str!("templates/hello.yaml")),
    ("approval", "a draft that people must agree to", include_str!("templates/approval.yaml")),
    ("route", "one of several ways, by what a model says", include_str!("templates/route.yaml")),
    ("loop", "the same work for each item of a list", include_str!("templates/loop.yaml")),
    ("quality", "try again until the result is good enough", include_str!("templates/quality.yaml")),
];

/// What stands in a template for the name of the workflow.
const NAME: &str = "NAME";

/// Write a new workflow to start from
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
)]
pub(crate) struct Arguments {
    /// The name of the workflow; it is written to NAME.yaml
    name: String,

    /// What to start from: hello, approval, route, loop or quality
    #[arg(long, short, default_value = "hello")]
    template: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let text = find(&arguments.template)?;
    let path = file(&arguments.name);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if stem.is_empty() || !stem.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) {
        bail!("`{stem}` is no name for a workflow\nhelp: use letters, digits, `_` and `-`");
    }
    write(&path, &text.replace(NAME, &stem))?;
    let shown = path.display();
    terminal::print(&format!("{shown}\n"))?;
    terminal::tell(&format!("Next: branchpoint check {shown}\n"));
    Ok(ExitCode::SUCCESS)
}

/// The text of a template.
fn find(name: &str) -> Result<&'static str> {
    if let Some((_, _, text)) = TEMPLATES.iter().find(|(known, ..)| *known == name) {
        return Ok(text);
    }
    let finding = Diagnostic::error(Kind::UnknownName, Span::default(), "");
    let help = finding.suggest(name, TEMPLATES.iter().map(|(name, ..)| *name)).help;
    let help = help.map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let list = TEMPLATES.iter().map(|(name, about, _)| format!("\n  {name:8}  {about}"));
    bail!("there is no template `{name}`{help}\nTemplates:{}", list.collect::<String>())
}

/// The file of a workflow: the name with `.yaml`, unless it says so itself.
fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(name);
    let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    if is_yaml { path } else { PathBuf::from(format!("{name}.yaml")) }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let shown = path.display();
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{shown} is there already, and is left as it is\nhelp: choose another name, or remove the file first")
        }
        other => other.with_context(|| format!("cannot write {shown}"))?,
    };
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {shown}"))
}
