//! Answers to the calls and approvals of a run: from a script, and in a dry run from the person at the terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{IsTerminal, stdin};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use branchpoint_core::Approval;
use branchpoint_core::effect::Request;
use branchpoint_core::ir::Program;
use branchpoint_dialects::script_by_step;
use branchpoint_expr::{Diagnostic, Kind, Located, Object, Span, Value};
use branchpoint_host::{Script, ScriptError, SimulatedAnswer};
use branchpoint_runners::{Answer, Call, Secrets};

use super::script_skeleton::Skeleton;
use crate::source::Source;
use crate::terminal;

/// The available answers, and the steps whose answers are missing.
pub(crate) struct Answers {
    script: Script,
    /// The file of the script.
    file: Option<(Source, Located)>,
    /// The script as it is stored.
    written: Option<Value>,
    /// Whether this is a dry run, which may prompt for missing answers.
    dry_run: bool,
    /// Whether a person can be prompted.
    asks: bool,
    /// The example answers that are collected, and used meanwhile.
    skeleton: Option<Skeleton>,
    /// Steps whose answers are missing, with the kind of call.
    pub(crate) missing: BTreeMap<Arc<str>, Arc<str>>,
}

impl Answers {
    /// Reads the script; without one there are no answers.
    pub(crate) fn read(script: Option<&Path>, dry_run: bool) -> Result<Self> {
        let asks = dry_run && stdin().is_terminal();
        let Some(path) = script else { return Ok(Self { dry_run, asks, ..Self::none() }) };
        let (mut script, written, file) = read(path)?;
        if let Err(error) = script.resolve_variables(|name| env::var(name).ok()) {
            bail!("{}: {error}", path.display());
        }
        // A replay must execute the recorded run, not another.
        let asks = asks && script.recording().is_none();
        Ok(Self { script, file: Some(file), written: Some(written), dry_run, asks, ..Self::none() })
    }

    /// No answers at all.
    pub(crate) fn none() -> Self {
        let (script, missing) = (Script::default(), BTreeMap::new());
        Self { script, file: None, written: None, dry_run: false, asks: false, skeleton: None, missing }
    }

    /// Answers every call with an example, and collects the examples.
    pub(crate) fn collect_into(&mut self, skeleton: Skeleton) {
        (self.skeleton, self.asks) = (Some(skeleton), false);
    }

    /// The examples that were collected.
    pub(crate) fn take_skeleton(&mut self) -> Option<Skeleton> {
        self.skeleton.take()
    }

    /// Rejects answers for unknown steps, because the author of the script expects that the steps are not executed.
    pub(crate) fn check<'p>(&self, programs: impl IntoIterator<Item = &'p Program>) -> Result<()> {
        let Some((source, document)) = &self.file else { return Ok(()) };
        let (mut steps, mut kinds) = (BTreeSet::new(), BTreeSet::new());
        for program in programs {
            steps.extend(program.steps.iter().map(|step| step.id.clone()));
            kinds.extend(
                program.effects.iter().filter(|effect| effect.step.is_none()).map(|effect| effect.kind.as_str().into()),
            );
        }
        if self.is_recorded() {
            return Ok(());
        }
        let known = |step: &Arc<str>| steps.contains(step) || kinds.contains(step) || PEOPLE.contains(&&**step);
        let unknown = self.script.steps().filter(|step| !known(step)).map(|step| {
            let message = format!("the script has answers for `{step}`, but the workflow has no such step");
            let finding = Diagnostic::error(Kind::UnknownTarget, key_span(document, step), message);
            let finding = finding.suggest(step, steps.iter().chain(&kinds).map(|known| &**known));
            let help = "remove it, or name a step; calls without an answer in the script are executed";
            if finding.help.is_some() { finding } else { finding.with_help(help) }
        });
        let unknown: Vec<Diagnostic> = unknown.collect();
        if unknown.is_empty() { Ok(()) } else { Err(invalid_script(source, &unknown)) }
    }

    /// Whether the script has answers.
    pub(crate) fn has_answers(&self) -> bool {
        self.script.steps().next().is_some()
    }

    /// Whether the script is a recording, which answers everything.
    pub(crate) fn is_recorded(&self) -> bool {
        self.script.recording().is_some()
    }

    /// The steps that do not call other workflows, because the script answers them.
    pub(crate) fn scripted_steps(&self) -> BTreeSet<String> {
        let steps = |names: &mut dyn Iterator<Item = &Arc<str>>| names.map(ToString::to_string).collect();
        match self.script.recording() {
            Some(recorded) => steps(&mut recorded.replaced_steps.iter()),
            None => steps(&mut self.script.steps()),
        }
    }

    /// A fact of the host when the script was recorded.
    pub(crate) fn fact(&self, name: &str) -> Option<Value> {
        self.script.recording()?.facts.get(name).cloned()
    }

    /// The script that a run is started with.
    pub(crate) fn script_value(&self) -> Option<&Value> {
        self.written.as_ref()
    }

    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    pub(crate) fn mask_with(&mut self, secrets: &Secrets) {
        self.script.add_secrets(secrets.values());
    }

    pub(crate) fn knows(&self, step: &str) -> bool {
        self.script.has_step(step)
    }

    /// Whether the answers of a step come from the person at the terminal.
    pub(crate) fn can_ask(&self, step: &str) -> bool {
        self.asks && !self.knows(step)
    }

    /// The answer to an approval, from the script or the person at the terminal.
    pub(crate) fn approval_answer(&mut self, step: &Arc<str>, approval: &Approval, shown: &str) -> Option<Value> {
        if self.knows(step) {
            return self.script.approval_answer(step, "", &approval.path, &approval.spec);
        }
        if let Some(skeleton) = &mut self.skeleton {
            return skeleton.approval(approval);
        }
        let typed = self.asks.then(|| terminal::ask(&format!("{shown}{step}> "))).flatten();
        typed.map(|line| Value::from(line.trim()))
    }

    fn ask(&self, step: &Arc<str>, call: &Call) -> Option<SimulatedAnswer> {
        let prompt = match call.request() {
            Ok(Request::Model(request)) => request.prompt,
            _ => None,
        };
        let prompt = prompt.unwrap_or_else(|| call.input.to_string());
        let question = format!("Step `{step}` calls `{}` with:\n{prompt}\n{step}> ", call.kind());
        loop {
            let line = self.asks.then(|| terminal::ask(&question)).flatten()?;
            let entry: Value = serde_json::from_str(&line).unwrap_or_else(|_| Value::from(line.trim_end()));
            match one_entry(step, entry) {
                Ok(mut script) => return Some(script.simulate(call)),
                Err(wrong) => terminal::error(&wrong.to_string()),
            }
        }
    }
}

impl Answers {
    /// The answer of a call in a dry run.
    pub(crate) fn simulate(&mut self, call: &Call) -> SimulatedAnswer {
        let step = call.name();
        if self.knows(&step) || self.is_recorded() || !self.dry_run {
            return self.script.simulate(call);
        }
        let example = self.skeleton.as_mut().map(|skeleton| skeleton.call(&step, &call.definition));
        if let Some(mut script) = example.and_then(|example| one_entry(&step, example).ok()) {
            return script.simulate(call);
        }
        self.ask(&step, call).unwrap_or_else(|| {
            self.missing.insert(step, call.kind().as_str().into());
            SimulatedAnswer { is_missing: true, ..Answer::Missing.into() }
        })
    }
}

/// The script with one answer of one step.
fn one_entry(step: &Arc<str>, entry: Value) -> Result<Script, ScriptError> {
    let script: Object = [(Arc::clone(step), Value::from(vec![entry]))].into_iter().collect();
    Script::read(&Value::from(script))
}

/// Keys of answers of people that are not step ids.
const PEOPLE: [&str; 3] = ["resume", "line", "people"];

fn read(path: &Path) -> Result<(Script, Value, (Source, Located))> {
    let source = Source::file(path)?;
    let document = match branchpoint_dialects::read(&source.text) {
        Ok(document) => document,
        Err(findings) => return Err(invalid_script(&source, &findings)),
    };
    let written = script_by_step(document.to_value());
    match Script::read(&written) {
        Ok(script) => Ok((script, written, (source, document))),
        Err(ScriptError::Entry { at, error }) => {
            let within = at.iter().try_fold(&document, part).unwrap_or(&document);
            let message = ScriptError::Entry { at: at.clone(), error: error.clone() }.to_string();
            let finding = Diagnostic::error(error.kind, key_span(within, &error.key), message);
            let finding = if error.help.is_empty() { finding } else { finding.with_help(error.help) };
            Err(invalid_script(&source, &[finding]))
        }
        Err(wrong) => bail!("{}: {wrong}", source.origin),
    }
}

/// Prints the findings in a script and returns the error.
fn invalid_script(source: &Source, findings: &[Diagnostic]) -> anyhow::Error {
    terminal::message(&terminal::findings(findings, &source.text, &source.origin));
    anyhow!("the script {} is invalid; nothing was executed", source.origin)
}

/// A part of a script: scripts of graphs have their steps one level deeper.
fn part<'d>(within: &'d Located, at: &Value) -> Option<&'d Located> {
    match at {
        Value::Int(position) => within.items()?.get(usize::try_from(*position).ok()?),
        key => {
            let key = key.as_str()?;
            within.get(key).or_else(|| within.get("agents")?.get(key))
        }
    }
}

/// The place of a key; of the whole, if the key is not there.
fn key_span(within: &Located, key: &str) -> Span {
    let deeper = within.get("agents").into_iter().flat_map(Located::fields);
    let field = within.fields().iter().chain(deeper).find(|field| &*field.key == key);
    field.map_or(within.span, |field| field.key_span)
}
