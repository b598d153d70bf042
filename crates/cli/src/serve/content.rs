//! The texts that a server offers: pages about diagnostics, templates and examples.

use std::path::Path;

use branchpoint_server::{Content, Example, Template, WebFile};
use include_dir::{Dir, File, include_dir};

use crate::explain;
use crate::new::TEMPLATES;

/// The examples are part of the program, so that a server has something to show without any file.
static EXAMPLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../examples");

pub(super) const CONTENT: Content =
    Content { page: Some(explain::page), templates, web: WEB, version: env!("CARGO_PKG_VERSION") };

/// The built web page, which `build.rs` lists; empty if it was not built.
static WEB: &[WebFile] = include!(concat!(env!("OUT_DIR"), "/web_files.rs"));

fn templates() -> Vec<Template> {
    let template = |template: &'static crate::new::Template| Template {
        name: template.name,
        dialect: template.dialect.as_str(),
        title: template.about,
        text: template.text,
        script: template.script,
        inputs: template.inputs,
    };
    TEMPLATES.iter().map(template).collect()
}

/// The folders of the examples, one for each dialect.
const FOLDERS: [&str; 5] = ["steps", "flow", "machine", "graph", "session"];

/// The workflows of the examples with their scripts.
pub(super) fn examples() -> Vec<Example> {
    let folders = FOLDERS.iter().filter_map(|folder| EXAMPLES.get_dir(folder));
    let documents = folders.flat_map(Dir::files).filter(|file| is_document(file.path()));
    documents.filter_map(example).collect()
}

fn is_document(path: &Path) -> bool {
    let is_part = |ending: &str| path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(ending));
    let is_text = path.extension().is_some_and(|ending| ending == "yaml" || ending == "json");
    is_text && !is_part(".script") && !is_part(".events") && !is_part(".inputs")
}

fn example(file: &'static File<'static>) -> Option<Example> {
    let name = file.path().file_stem()?.to_str()?;
    let beside =
        |ending: &str| EXAMPLES.get_file(file.path().with_file_name(format!("{name}.{ending}")))?.contents_utf8();
    Some(Example { name, text: file.contents_utf8()?, script: beside("script.yaml") })
}
