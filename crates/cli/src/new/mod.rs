//! `branchpoint new`: a workflow to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use branchpoint_expr::{Diagnostic, Kind, Span};

use crate::terminal;

/// A workflow that people start from.
struct Template {
    name: &'static str,
    about: &'static str,
    text: &'static str,
}

const TEMPLATES: [Template; 5] = [
    Template {
        name: "hello",
        about: "two steps and nothing outside: runs at once",
        text: include_str!("templates/hello.yaml"),
    },
    Template {
        name: "approval",
        about: "a draft that people must agree to",
        text: include_str!("templates/approval.yaml"),
    },
    Template {
        name: "route",
        about: "one of several ways, by what a model says",
        text: include_str!("templates/route.yaml"),
    },
    Template {
        name: "loop",
        about: "the same work for each item of a list",
        text: include_str!("templates/loop.yaml"),
    },
    Template {
        name: "quality",
        about: "try again until the result is good enough",
        text: include_str!("templates/quality.yaml"),
    },
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
    let template = find(&arguments.template)?;
    let path = file(&arguments.name);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if stem.is_empty() || !stem.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) {
        bail!("`{stem}` is no name for a workflow\nhelp: use letters, digits, `_` and `-`");
    }
    write(&path, &template.text.replace(NAME, &stem))?;
    let shown = path.display();
    terminal::print(&format!("{shown}\n"))?;
    terminal::tell(&format!("Next: branchpoint check {shown}\n"));
    Ok(ExitCode::SUCCESS)
}

fn find(name: &str) -> Result<&'static Template> {
    if let Some(template) = TEMPLATES.iter().find(|template| template.name == name) {
        return Ok(template);
    }
    let finding = Diagnostic::error(Kind::UnknownName, Span::default(), "");
    let names = TEMPLATES.iter().map(|template| template.name);
    let help = finding.suggest(name, names).help.map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let list = TEMPLATES.iter().map(|template| format!("\n  {:8}  {}", template.name, template.about));
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
