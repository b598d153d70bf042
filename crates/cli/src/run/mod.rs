//! `branchpoint run`: starts a run of a workflow and drives it.

mod answers;
mod attach;
mod declared_inputs;
mod dry_run;
mod inputs;
mod on_server;
mod recording_file;
mod repeated_start;
mod report;
mod script_skeleton;
pub(crate) mod start_checks;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use branchpoint_backend::{
    Accepted, Backend, BackendError, Document, Priority, RESERVED_RUN_IDS, Start, Tags, WorkflowNo,
};
use branchpoint_core::ir::Program;
use branchpoint_dialects::{document_name, input_with_id, requested_by};
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::host::new_id;
use branchpoint_host::{VirtualDriver, recording_yaml};
use branchpoint_runners::storage::Uploads;
use branchpoint_runners::{Secrets, SharedSecrets};
use jiff::Timestamp;

pub(crate) use self::answers::Answers;
use self::inputs::Input;
use self::recording_file::RecordingFile;
use self::repeated_start::RequestedStart;
use self::script_skeleton::Skeleton;
use crate::foreground::{Foreground, Outcome};
use crate::project::{Project, Reach, StoreArguments};
use crate::server_option::ServerOption;
use crate::source::is_stdin;
use crate::workflow::Workflow;
use crate::{backend, exit, local_runner, outcome, terminal, workflow};

/// Run a workflow
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
#[expect(clippy::struct_excessive_bools, reason = "they are what people type")]
pub(crate) struct Arguments {
    #[command(flatten)]
    workflow: workflow::File,

    /// Input: text after `=`, JSON after `:=`; `@FILE` and `-` read JSON
    #[arg(long = "input", short, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    inputs: Vec<Input>,

    /// File that the run starts with; can be given up to 20 times
    #[arg(long = "attach", value_name = "FILE")]
    attachments: Vec<PathBuf>,

    /// YAML file with answers to calls and approvals
    #[arg(long, short, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Id of the run; a second start with the same id resumes it
    #[arg(long, value_name = "KEY", value_parser = id)]
    id: Option<String>,

    /// Tag of the run; can be given up to 20 times
    #[arg(long = "tag", value_name = "TAG", conflicts_with = "dry_run")]
    tags: Vec<String>,

    /// Priority in queues, from -100 to 100
    #[arg(long, value_name = "N", default_value_t, allow_hyphen_values = true, conflicts_with = "dry_run")]
    priority: Priority,

    /// Print the id and leave the run to `branchpoint work`
    #[arg(long, conflicts_with = "dry_run")]
    detach: bool,

    /// Show the path of a run without executing or storing anything
    #[arg(long, conflicts_with = "id")]
    dry_run: bool,

    /// File for example answers, written by a dry run
    #[arg(long, value_name = "FILE", requires = "dry_run", conflicts_with = "script")]
    write_script: Option<PathBuf>,

    /// Print one JSON object: the run, its status and its result
    #[arg(long, short)]
    json: bool,

    /// Print errors only
    #[arg(long, short)]
    quiet: bool,

    /// User who starts the run and answers its approvals
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,

    #[command(flatten)]
    reach: Reach,

    /// File for a recording of all answers, to replay with --script
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "detach"])]
    record: Option<PathBuf>,

    #[command(flatten)]
    server: ServerOption,

    #[command(flatten)]
    store: StoreArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    arguments.check()?;
    let server = arguments.server.address(&arguments.store)?;
    let project = Project::find()?.reaching(arguments.reach);
    let user = project.user(arguments.user.as_deref());
    let mut answers = Answers::read(arguments.script.as_deref(), arguments.dry_run)?;
    if let Some(path) = &arguments.write_script {
        answers.collect_into(Skeleton::new(path)?);
    }
    let workflow = match arguments.workflow.load_scripted(&answers.scripted_steps())? {
        Ok(workflow) => workflow,
        Err(refused) => return Ok(refused),
    };
    if workflow.dialect == Some(Dialect::Session) {
        terminal::error(
            "`run` does not accept a session\n\
             help: `branchpoint chat FILE` chats with the agent of a template; `branchpoint session FILE` answers events on stdin",
        );
        return Ok(ExitCode::from(exit::USAGE));
    }
    answers.check([&workflow.program].into_iter().chain(children_of(&workflow)?.values()))?;
    let account =
        answers.fact("account").unwrap_or_else(|| requested_by(&local_runner::account(&project, &user), &user));
    let (input, facts) = inputs::start(workflow.dialect, &arguments.inputs, account)?;
    let attachments = attach::read(&arguments.attachments, workflow.dialect)?;
    let (input, mut facts) = inputs::attaching(&attachments, input, facts);
    if let Some(folder) = arguments.workflow.folder() {
        facts.insert("document_dir".into(), Value::from(folder.display().to_string()));
    }
    if let Some(address) = server.filter(|_| !arguments.dry_run) {
        return on_server::run(arguments, &address, &workflow, &answers, (input, &attachments), &facts);
    }
    if !arguments.quiet && !answers.is_recorded() && inputs::lacks_input(&arguments.inputs) {
        start_checks::show(&workflow, branchpoint_dialects::missing_input(&workflow.source.text).as_slice());
    }
    if let Some(refused) = start_checks::check(&workflow, &answers, (&project, &arguments.store), arguments.dry_run)? {
        terminal::message("Nothing was executed. Use --dry-run to see the path of the run.\n");
        return Ok(refused);
    }
    if arguments.dry_run {
        return dry_run::run(workflow, input, facts, answers, project.max_ops(), (arguments.json, arguments.quiet));
    }
    arguments.start(&project, user, &workflow, &answers, (input, attachments), &facts)
}

impl Arguments {
    /// Checks that clap cannot express.
    fn check(&self) -> Result<()> {
        if self.stdins() > 1 {
            bail!("only one of the workflow, the script and the inputs can come from stdin");
        }
        if self.detach && self.reach.allow_private_network {
            bail!(
                "--allow-private-network has no effect on a detached run\n\
                 help: give it to `branchpoint work`, which executes the run"
            );
        }
        self.tags().map(drop)
    }

    fn tags(&self) -> Result<Tags> {
        Ok(Tags::new(self.tags.iter().map(String::as_str))?)
    }

    /// How many of the files are standard input.
    fn stdins(&self) -> usize {
        usize::from(self.workflow.is_stdin())
            + usize::from(self.script.as_deref().is_some_and(is_stdin))
            + self.inputs.iter().filter(|input| input.is_stdin()).count()
    }

    fn report_options<'i>(&self, id: &'i str, masks: SharedSecrets, workflow: &Workflow) -> report::ReportOptions<'i> {
        let document = report::RunDocument::of(workflow);
        report::ReportOptions { id, json: self.json, quiet: self.quiet, reach: self.reach, masks, document }
    }

    /// Starts the run durably, and follows it unless it is detached.
    fn start(
        &self,
        project: &Project,
        user: String,
        workflow: &Workflow,
        answers: &Answers,
        (input, attachments): (Value, Uploads),
        facts: &Object,
    ) -> Result<ExitCode> {
        let recording = self.record.as_deref().map(RecordingFile::new).transpose()?;
        let now_ms = Timestamp::now().as_millisecond();
        let id = self.id.clone().map_or_else(|| new_id(now_ms), Ok)?;
        let secrets = secrets_of(workflow, &input, facts);
        let input = input_with_id(workflow.dialect, input, &id);
        let store = backend::open(project, &self.store)?;
        let wanted = |number| RequestedStart {
            workflow: number,
            name: format!("`{}` from {}", name_of(workflow), origin_of(workflow)),
            input: &input,
            has_attachments: !attachments.files().is_empty(),
            facts,
            script: answers.script_value(),
            secrets: &secrets,
        };
        // A rejected start stores nothing, so that its id stays free.
        if let Some(existing) = store.run(&id)? {
            repeated_start::check(&*store, &existing, &wanted(saved_version(&*store, workflow)?))?;
        } else if let Some(result) = rejected_result(workflow, &input, facts, answers)? {
            let masks = SharedSecrets::from(project.private());
            masks.add(secrets.values().to_vec());
            return report::report_rejected(&result, &self.report_options(&id, masks, workflow));
        }
        let number = save(&*store, workflow, now_ms)?;
        let given = facts.clone();
        let given = given.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        let mut foreground = Foreground::open(project, &self.store, user, self.quiet, self.stdins() == 0)?;
        foreground.masks().add(secrets.values().to_vec());
        let start = Start {
            folder: env::current_dir()?.display().to_string().into(),
            facts: given,
            secrets: secrets.clone(),
            script: answers.script_value().cloned(),
            watched: !self.detach,
            detached: self.detach,
            attachments: attachments.clone(),
            tags: self.tags()?,
            priority: self.priority,
            ..Start::new(number, id.clone(), input.clone())
        };
        let Accepted { run, new } = match foreground.store().start(start) {
            Err(BackendError::Rejection(refused)) => bail!("the run cannot start: {refused}"),
            started => started?,
        };
        if !new {
            // Another process may have started it a moment ago.
            let row = foreground.store().row(run)?;
            repeated_start::check(foreground.store(), &row, &wanted(Some(number)))?;
            let is_scripted = foreground.store().is_scripted(run)?;
            let what = match row.status.is_final() {
                true => "showing its result",
                false if is_scripted => "continuing it, with its script",
                false => "continuing it",
            };
            if !self.quiet {
                foreground.say(&format!("Run `{id}` already exists; {what}.\n"));
            }
        }
        if self.detach {
            foreground.leave()?;
            terminal::print(&format!("{id}\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let outcome = if new { foreground.follow(run)? } else { foreground.resume_run(run)? };
        let masks = foreground.masks().clone();
        let store = foreground.leave()?;
        let options = self.report_options(&id, masks.clone(), workflow);
        let code = report::report_outcome(&outcome, &options)?;
        // The outcome of the run is reported in any case.
        if let Some(recording) = recording {
            recording.write(&recording_yaml(&store.recording(run, &masks.secrets())?))?;
            if !matches!(outcome, Outcome::Ended(_)) && !self.quiet {
                terminal::message(&format!("Recorded the run so far; --id {id} --record FILE records the rest.\n"));
            }
        }
        Ok(code)
    }
}

/// The result of a run that ends before its first step, because its inputs are invalid. None if the run can start.
fn rejected_result(workflow: &Workflow, input: &Value, facts: &Object, answers: &Answers) -> Result<Option<Value>> {
    let facts = with_host_facts(&workflow.program, facts.clone(), answers);
    let mut trial = VirtualDriver::new(&workflow.program, Timestamp::now().as_millisecond());
    trial.start(input.clone(), facts).map_err(|rejected| anyhow!("the run cannot start: {rejected}"))?;
    Ok(trial.result().filter(|result| outcome::is_rejected(result)).cloned())
}

/// The facts of a start, with those of the recording or of this machine that the program names.
fn with_host_facts(program: &Program, mut facts: Object, answers: &Answers) -> Object {
    for name in &program.facts {
        let fact = || answers.fact(name).unwrap_or_else(|| local_runner::fact(name));
        facts.entry(name.clone()).or_insert_with(fact);
    }
    facts
}

/// The secrets of a run: secret inputs, and the defaults of such inputs.
fn secrets_of(workflow: &Workflow, input: &Value, facts: &Object) -> Secrets {
    let mut secrets = Secrets::of(input);
    secrets.add(Secrets::of(&Value::from(facts.clone())).values());
    for program in [&workflow.program].into_iter().chain(workflow.children.values()) {
        secrets.add(Secrets::in_program(program).values());
    }
    secrets
}

/// Saves the workflow with the programs that its runs need.
pub(crate) fn save(store: &dyn Backend, workflow: &Workflow, now_ms: i64) -> Result<WorkflowNo> {
    let (document, children) = (document_of(workflow), children_of(workflow)?);
    let saved = branchpoint_backend::Workflow { document: &document, program: &workflow.program, children: &children };
    store.save(saved, now_ms).context("the workflow cannot be saved")
}

/// The number of the workflow, if the store has it.
fn saved_version(store: &dyn Backend, workflow: &Workflow) -> Result<Option<WorkflowNo>> {
    let (document, children) = (document_of(workflow), children_of(workflow)?);
    let saved = branchpoint_backend::Workflow { document: &document, program: &workflow.program, children: &children };
    Ok(store.find_saved(saved)?)
}

fn document_of(workflow: &Workflow) -> Document {
    let document = workflow::document(&workflow.source, workflow.dialect);
    Document { name: name_of(workflow), origin: origin_of(workflow), ..document }
}

fn origin_of(workflow: &Workflow) -> String {
    let origin = &workflow.source.origin;
    fs::canonicalize(origin).map_or_else(|_| origin.clone(), |path| path.display().to_string())
}

/// The programs of the runs that it calls: other workflows, and turns of agents.
fn children_of(workflow: &Workflow) -> Result<BTreeMap<Arc<str>, Program>> {
    let mut children = workflow.children.clone();
    let agents = branchpoint_dialects::agent_programs([&workflow.program].into_iter().chain(children.values()));
    children.extend(agents.map_err(|problems| anyhow!("an agent's `stop_when` cannot be compiled: {problems}"))?);
    Ok(children)
}

/// The name of a workflow: the name in the document, else that of its file.
fn name_of(workflow: &Workflow) -> String {
    let file = || Path::new(&workflow.source.origin).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    document_name(&workflow.source.text).or_else(file).unwrap_or_else(|| "workflow".into())
}

/// Validates an id. It has no character of the ids of child runs.
pub(crate) fn id(text: &str) -> Result<String, String> {
    let sane = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
    if text.is_empty() || text.len() > 128 || !text.chars().all(sane) {
        return Err("an id has at most 128 letters, digits, `-`, `_` and `:`".into());
    }
    if RESERVED_RUN_IDS.contains(&text) {
        return Err(format!("the id `{text}` is reserved for a path of the HTTP API; choose another"));
    }
    Ok(text.to_owned())
}
