//! Saves examples when a server starts that has nothing else to show.

use std::io;

use branchpoint_dialects::document_name;

use crate::Example;
use crate::app::App;
use crate::documents::{Executable, Source, load};

/// The origin of examples.
const ORIGIN: &str = "example";

/// Saves the examples under their names. The second of a name gets its dialect as an addition.
pub(crate) fn save(app: &App, examples: &[Example]) -> io::Result<()> {
    app.handles.with_first(|backend| {
        for example in examples {
            let name = document_name(example.text).unwrap_or_else(|| example.name.to_owned());
            let source = Source { text: example.text, name: Some(&name), dialect: None, author: None };
            let loaded = load(&*backend, source).map_err(|problem| failed(example, &problem))?;
            let is_used = backend.workflow(&name).map_err(io::Error::other)?.is_some();
            let dialect = loaded.dialect.map(|dialect| format!("{name}-{}", dialect.as_str()));
            let name = dialect.filter(|_| is_used).unwrap_or(name);
            let executable = Executable::new(loaded, name.clone(), ORIGIN.into(), example.text.to_owned());
            let saved = executable.and_then(|executable| executable.save(&*backend));
            saved.map_err(|problem| failed(example, &problem))?;
            if let Some(script) = example.script {
                app.default_scripts.set(&name, Some(script.to_owned()));
            }
        }
        Ok(())
    })
}

fn failed(example: &Example, problem: &crate::problem::Problem) -> io::Error {
    io::Error::other(format!("the example `{}` cannot be saved: {}", example.name, problem.detail()))
}
