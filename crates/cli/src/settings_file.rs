//! Reads settings from TOML, with errors that name the line, the setting and a suggestion.

use std::path::Path;

use anyhow::{Result, anyhow};
use branchpoint_server::DataError;
use serde::de::DeserializeOwned;

/// The settings of a file.
pub(crate) fn from_text<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T> {
    let reader = toml::Deserializer::parse(text).map_err(|error| invalid(file, text, "", &error))?;
    serde_path_to_error::deserialize(reader)
        .map_err(|error| invalid(file, text, &error.path().to_string(), error.inner()))
}

/// The settings of sections, which the file named `file` has.
pub(crate) fn from_table<T: DeserializeOwned>(file: &str, table: &toml::Table) -> Result<T> {
    serde_path_to_error::deserialize(table.clone()).map_err(|error| {
        let problem = DataError::new(&error.path().to_string(), error.inner().message());
        anyhow!("{file} is invalid: {}{}", problem.problem, help(&problem))
    })
}

fn invalid(file: &Path, text: &str, path: &str, error: &toml::de::Error) -> anyhow::Error {
    let line = error.span().map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let problem = DataError::new(path, error.message());
    anyhow!("{}{line} is invalid: {}{}", file.display(), problem.problem, help(&problem))
}

fn help(problem: &DataError) -> String {
    problem.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let error = from_text::<Project>(Path::new("branchpoint.toml"), text).expect_err("the settings are invalid");
        assert_eq!(format!("{error:#}"), expect, "{text}");
    }

    #[test]
    fn invalid_settings_name_the_line_the_setting_and_a_suggestion() {
        check("stor = 1", "branchpoint.toml:1 is invalid: unknown field `stor`\nhelp: did you mean `store`?");
        check("store = 3", "branchpoint.toml:1 is invalid: `store` must be text, but is 3");
        let expect = "branchpoint.toml:3 is invalid: unknown field `ownr` in `people`\nhelp: did you mean `owner`?";
        check("# people\n[people]\nownr = \"ada\"", expect);
        check("[groups]\na = \"b\"", "branchpoint.toml:2 is invalid: `groups.a` must be a list, but is \"b\"");
        check("[models", "branchpoint.toml:1 is invalid: unclosed table, expected `]`");
    }

    #[test]
    fn invalid_sections_name_the_setting() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Section {
            #[serde(rename = "timeout_ms")]
            _timeout_ms: u32,
        }
        let table: toml::Table = toml::from_str("timeout = 3").expect("TOML");
        let error = from_table::<Section>("branchpoint.toml", &table).expect_err("the settings are invalid");
        let expect = "branchpoint.toml is invalid: unknown field `timeout`\nhelp: did you mean `timeout_ms`?";
        assert_eq!(format!("{error:#}"), expect);
    }
}
