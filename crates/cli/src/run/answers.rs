//! Who answers what a run asks the outside: a script, and in a dry run the person at the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, stdin};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use branchpoint_core::ir::{Index, Program};
use branchpoint_core::{Event, Note, Stamp, What};
use branchpoint_engine::{Answer, Call, Runner, Script};
use branchpoint_expr::{Object, Value, render_terminal};

use crate::source::Source;
use crate::terminal;

/// The answers that are there, and those that were lacking.
pub(crate) struct Answers {
    script: Script,
    /// The steps that the script knows.
    pub(crate) steps: BTreeSet<String>,
    /// Whether answers that the script lacks are looked for elsewhere.
    dry_run: bool,
    /// Whether someone can be asked.
    asks: bool,
    /// Steps whose answers were needed and are not there, with the kind of call.
    pub(crate) lacking: BTreeMap<Arc<str>, Arc<str>>,
}

impl Answers {
    /// Reads the script; without one there are no answers.
    pub(crate) fn read(script: Option<&Path>, dry_run: bool) -> Result<Self> {
        let (script, steps) = match script {
            Some(path) => read(path)?,
            None => (Script::default(), BTreeSet::new()),
        };
        Ok(Self { script, steps, dry_run, asks: dry_run && stdin().is_terminal(), lacking: BTreeMap::new() })
    }

    /// No answers at all.
    pub(crate) fn none() -> Self {
        let (script, steps, lacking) = (Script::default(), BTreeSet::new(), BTreeMap::new());
        Self { script, steps, dry_run: false, asks: false, lacking }
    }

    /// Leaves out the entries of calls that were answered before, in a run that is taken up again.
    pub(crate) fn skip(&mut self, program: &Program, journal: &[(Stamp, Event, u32)], notes: &[Note]) {
        let settled = journal.iter().filter_map(|(_, event, _)| match event {
            Event::Settled { effect, attempt, .. } => Some((*effect, *attempt)),
            _ => None,
        });
        let settled: BTreeSet<_> = settled.collect();
        for note in notes {
            if let What::Attempt { step: Some(step), effect, attempt } = &note.what
                && settled.contains(&(*effect, *attempt))
            {
                let _ = self.script.entry(&program.steps[step.index()].id, &note.path);
            }
        }
    }

    pub(crate) fn knows(&self, step: &str) -> bool {
        self.script.knows(step)
    }

    /// Whether the answers of a step come from the person at the terminal.
    pub(crate) fn can_ask(&self, step: &str) -> bool {
        self.asks && !self.knows(step)
    }

    /// What the script says next for a step that is not a call, or what the person at the terminal types.
    pub(crate) fn next(&mut self, step: &Arc<str>, question: &str) -> Option<Value> {
        if self.knows(step) {
            return self.script.entry(step, &[]).cloned();
        }
        let typed = self.asks.then(|| terminal::ask(&format!("{question}{step}> "))).flatten();
        typed.map(|line| Value::from(line.trim()))
    }

    fn ask(&self, step: &Arc<str>, call: &Call) -> Option<Answer> {
        let prompt = call.input.get("prompt").or_else(|| call.input.get("prompt_template"));
        let asked = prompt.unwrap_or(&call.input);
        let question = format!("The step `{step}` calls `{}` with:\n{asked}\n{step}> ", call.kind);
        let line = self.asks.then(|| terminal::ask(&question)).flatten()?;
        let entry: Value = serde_json::from_str(&line).unwrap_or_else(|_| Value::from(line.trim_end()));
        let script: Object = [(Arc::clone(step), Value::from(vec![entry]))].into_iter().collect();
        Some(Script::read(&Value::from(script)).ok()?.perform(call))
    }
}

impl Runner for Answers {
    fn perform(&mut self, call: &Call) -> Answer {
        let step = call.step.clone().unwrap_or_else(|| Arc::clone(&call.kind));
        if self.knows(&step) || !self.dry_run {
            return self.script.perform(call);
        }
        self.ask(&step, call).unwrap_or_else(|| {
            self.lacking.insert(step, Arc::clone(&call.kind));
            Answer::Never
        })
    }
}

fn read(path: &Path) -> Result<(Script, BTreeSet<String>)> {
    let source = Source::file(path)?;
    let document = match branchpoint_dialects::read(&source.text) {
        Ok(document) => document,
        Err(findings) => {
            terminal::tell(&render_terminal(&findings, &source.text, &source.origin, true));
            bail!("the script {} cannot be read", source.origin);
        }
    };
    let value = by_step(document.to_value());
    match Script::read(&value) {
        Ok(script) => {
            Ok((script, value.as_object().into_iter().flat_map(Object::keys).map(ToString::to_string).collect()))
        }
        Err(wrong) => bail!("{}: {wrong}", source.origin),
    }
}

/// Scripts of graphs have the answers of their agents under `agents` and those of people under `resume`.
fn by_step(script: Value) -> Value {
    let Some(fields) = script.as_object() else { return script };
    let of_graph = fields.keys().all(|key| matches!(&**key, "agents" | "resume"));
    let Some(agents) = fields.get("agents").and_then(Value::as_object).filter(|_| of_graph) else { return script };
    let mut steps = agents.clone();
    let people = fields.get("resume").filter(|answers| answers.as_list().is_some_and(|answers| !answers.is_empty()));
    steps.extend(people.map(|answers| (Arc::from("resume"), answers.clone())));
    Value::from(steps)
}
