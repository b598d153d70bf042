//! Texts that are part of the program that starts a server: pages, templates and examples.

use crate::page::WebFile;

/// The texts that a server offers.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// The Markdown page of a kind of diagnostic.
    pub page: Option<fn(&str) -> Option<&'static str>>,
    /// The workflows that people start from.
    pub templates: fn() -> Vec<Template>,
    /// The files of the built web page; none if the program was built without it.
    pub web: &'static [WebFile],
    /// The version of the program.
    pub version: &'static str,
}

impl Default for Content {
    fn default() -> Self {
        Self { page: None, templates: Vec::new, web: &[], version: env!("CARGO_PKG_VERSION") }
    }
}

/// A workflow that people start from.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Its name.
    pub name: &'static str,
    /// Its dialect.
    pub dialect: &'static str,
    /// What it shows, in a few words.
    pub title: &'static str,
    /// The document. `NAME` in it is the place of the workflow's name.
    pub text: &'static str,
    /// Answers for its calls and approvals, as YAML.
    pub script: &'static str,
    /// Its inputs as JSON; lines of text for a session.
    pub inputs: &'static str,
}

/// A workflow with answers for its calls, for a server that has nothing else to show.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The file name without its ending.
    pub name: &'static str,
    /// The document.
    pub text: &'static str,
    /// Answers for its calls and approvals, as YAML.
    pub script: Option<&'static str>,
}
