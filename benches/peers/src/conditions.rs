//! The seven conditions and the one document they are all true of, deciding at the last place.

use serde_json::{Value, json};

/// The alternatives of [`Case::OneOfTen`]; the document has the last one.
pub const MODES: [&str; 10] = ["dev0", "dev1", "dev2", "dev3", "dev4", "dev5", "dev6", "dev7", "dev8", "prod"];

/// How [`Case::PrefixAndSuffix`]'s text begins.
pub const PREFIX: &str = "release/";

/// How it ends.
pub const SUFFIX: &str = ".tar.gz";

/// A condition of the benchmark, by its number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// (1) An integer above a bound, and a string equality.
    CountAndMode,
    /// (2) An integer equality three levels down, and a substring.
    ExitAndOutput,
    /// (3) Ten string equalities joined by OR.
    OneOfTen,
    /// (4) A float five levels down.
    DeepNumber,
    /// (5) Prefix and suffix of 1 KB of text.
    PrefixAndSuffix,
    /// (6) Membership in 50 strings held in the context.
    ContextList,
    /// (6b) Membership in 50 strings written as literals.
    LiteralList,
}

impl Case {
    /// All seven, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::CountAndMode,
        Self::ExitAndOutput,
        Self::OneOfTen,
        Self::DeepNumber,
        Self::PrefixAndSuffix,
        Self::ContextList,
        Self::LiteralList,
    ];

    /// Its heading in the table.
    pub fn label(self) -> &'static str {
        ["1", "2", "3", "4", "5", "6", "6b"][self as usize]
    }
}

/// The condition in expr-lang's notation, which is ours too.
pub fn expr(case: Case) -> String {
    match case {
        Case::CountAndMode => r#"inputs.count > 10 && inputs.mode == "prod""#.into(),
        Case::ExitAndOutput => r#"states.check.ExitCode == 0 && states.check.Output contains "success""#.into(),
        Case::OneOfTen => any_mode(" || "),
        Case::DeepNumber => "a.b.c.d.e >= 3.5".into(),
        Case::PrefixAndSuffix => {
            format!(r#"text startsWith "{PREFIX}" && text endsWith "{SUFFIX}""#)
        }
        Case::ContextList => "name in names".into(),
        Case::LiteralList => format!("name in {}", literal_names()),
    }
}

/// `inputs.mode == "dev0" || …` with the OR that the engine at hand has.
pub fn any_mode(or: &str) -> String {
    MODES.map(|mode| format!(r#"inputs.mode == "{mode}""#)).join(or)
}

/// The 50 strings of the membership tests; the document's `name` is the last one.
pub fn names() -> Vec<String> {
    (0..50).map(|number| format!("name-{number:02}")).collect()
}

/// The same as a list of literals, which all the notations write alike.
pub fn literal_names() -> String {
    format!("{:?}", names())
}

/// The document.
pub fn context() -> Value {
    json!({
        "inputs": { "count": 42, "mode": MODES[9] },
        "states": { "check": { "ExitCode": 0, "Output": "120 files checked, no warnings: success" } },
        "a": { "b": { "c": { "d": { "e": 3.75 } } } },
        "text": format!("{PREFIX}{}{SUFFIX}", "x".repeat(1024 - PREFIX.len() - SUFFIX.len())),
        "names": names(),
        "name": names().last(),
    })
}
