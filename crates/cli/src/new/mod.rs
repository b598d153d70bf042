//! `branchpoint new`: a workflow to start from.

mod templates;

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use branchpoint_expr::nearest;

pub(crate) use self::templates::{TEMPLATES, Template};
use crate::terminal;

/// The placeholder of templates for the name of the workflow.
const NAME: &str = "NAME";

/// Write a workflow to start from
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
)]
pub(crate) struct Arguments {
    /// Name of the workflow, written to NAME.yaml
    name: String,

    /// Template to start from
    #[arg(long, short, default_value = "hello")]
    template: String,

    /// Also write an answers file and inputs, to run it at once
    #[arg(long)]
    with_script: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let template = find(&arguments.template)?;
    let path = file(&arguments.name);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if stem.is_empty() || !stem.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) {
        bail!("`{stem}` cannot be the name of a workflow\nhelp: use letters, digits, `_` and `-`");
    }
    let beside = |ending: &str| path.with_file_name(format!("{stem}.{ending}"));
    let mut files = vec![(path.clone(), template.text)];
    if arguments.with_script {
        files.push((beside("script.yaml"), template.script));
        files.push((beside(template.inputs_ending()), template.inputs));
    }
    // All or nothing: a file that exists stops before the first is written.
    if let Some((existing, _)) = files.iter().find(|(path, _)| path.exists()) {
        bail!(already_exists(existing));
    }
    for (path, text) in files {
        write(&path, &text.replace(NAME, &stem))?;
        terminal::print(&format!("{}\n", path.display()))?;
    }
    let typed = path.with_extension("").display().to_string();
    let command = template.command(&typed, &path.display().to_string(), arguments.with_script);
    terminal::message(&format!("Next: branchpoint {command}\n"));
    Ok(ExitCode::SUCCESS)
}

fn find(name: &str) -> Result<&'static Template> {
    if let Some(template) = TEMPLATES.iter().find(|template| template.name == name) {
        return Ok(template);
    }
    let near = nearest(name, TEMPLATES.iter().map(|template| template.name));
    let help = near.map(|near| format!("\nhelp: did you mean `{near}`?")).unwrap_or_default();
    let list = TEMPLATES
        .iter()
        .map(|template| format!("\n  {:8}  {:7}  {}", template.name, template.dialect.as_str(), template.about));
    bail!("there is no template `{name}`{help}\nTemplates:{}", list.collect::<String>())
}

/// The file of a workflow: the name with `.yaml`, unless it has such an ending itself.
fn file(name: &str) -> PathBuf {
    let path = PathBuf::from(name);
    let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    if is_yaml { path } else { PathBuf::from(format!("{name}.yaml")) }
}

fn already_exists(path: &Path) -> String {
    format!("{} already exists\nhelp: choose another name, or remove the file first", path.display())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let shown = path.display();
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(already_exists(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(Path::new(".")).display();
            bail!("cannot write {shown}: there is no folder {folder}\nhelp: create it with `mkdir -p {folder}`")
        }
        other => other.with_context(|| format!("cannot write {shown}"))?,
    };
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {shown}"))
}
