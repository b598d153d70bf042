//! Shows a run while it executes: a line for each step that has ended and, on a terminal, the running steps below.

use std::collections::BTreeMap;
use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::time::Duration;

use branchpoint_backend::{Backend, RunNo};
use branchpoint_core::ir::{Index, Program, Status, StepId};
use branchpoint_core::{EffectNo, Note, NoteKind, Records, StepRecord, StepStatus};
use branchpoint_runners::SharedSecrets;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{step_line, terminal};

/// The most running steps that are shown; more would not fit on the screen.
const BARS: usize = 12;

/// The most characters of a model's unfinished reply that are shown.
const WORDS: usize = 50;

/// The longest line of a command, in bytes. A longer one is printed without waiting for its end.
const LINE_BYTES: usize = 64 * 1024;

/// The steps of a run and of its child runs.
pub(crate) struct View {
    quiet: bool,
    masks: SharedSecrets,
    /// The lines of the running steps; none without a terminal.
    bars: Option<MultiProgress>,
    runs: BTreeMap<RunNo, ShownRun>,
    /// The depth of the child runs of a call, and the record of the call.
    calls: BTreeMap<(RunNo, EffectNo), (usize, usize)>,
    /// The unfinished line of a command.
    unfinished: String,
    /// Whether the last printed line is unfinished.
    in_line: bool,
    held: bool,
}

/// A run that is shown.
struct ShownRun {
    masks: SharedSecrets,
    id: String,
    program: Arc<Program>,
    depth: usize,
    records: Records,
    /// Whether the line of each record was printed.
    printed: Vec<bool>,
    /// The newest record of a step at a place.
    newest: BTreeMap<(StepId, Vec<u32>), usize>,
    /// Unfinished records, with their progress bars.
    open: BTreeMap<usize, Option<ProgressBar>>,
    /// The end of the model's reply, by record.
    words: BTreeMap<usize, String>,
    /// The open records at each position that has begun, by record of a loop over items.
    items: BTreeMap<usize, BTreeMap<u32, usize>>,
}

impl View {
    pub(crate) fn new(quiet: bool, masks: SharedSecrets) -> Self {
        let bars = Self::moves(quiet).then(MultiProgress::new);
        let (runs, calls) = (BTreeMap::new(), BTreeMap::new());
        Self { quiet, masks, bars, runs, calls, unfinished: String::new(), in_line: false, held: false }
    }

    /// Whether running steps are shown.
    pub(super) fn moves(quiet: bool) -> bool {
        !quiet && stderr().is_terminal()
    }

    /// Adds notes of a run and prints the steps that have ended.
    pub(crate) fn add_notes(&mut self, run: RunNo, notes: &[Note], store: &dyn Backend) {
        if self.quiet || !self.ensure_run(run, store) {
            return;
        }
        let mut lines = String::new();
        for note in notes {
            let Some(shown_run) = self.runs.get_mut(&run) else { return };
            lines += &shown_run.add(note);
            if let NoteKind::Attempt { step: Some(step), effect, .. } = &note.kind
                && let Some(at) = shown_run.newest.get(&(*step, note.path.clone()))
            {
                let depth = shown_run.depth + step_line::inner_depth(&shown_run.program, *step) + 1;
                self.calls.insert((run, *effect), (depth, *at));
            }
        }
        self.say(&lines);
        self.draw(run);
    }

    /// Adds earlier notes of a run, whose steps are not printed again.
    pub(crate) fn add_earlier(&mut self, run: RunNo, notes: &[Note], store: &dyn Backend) {
        if self.quiet || !self.ensure_run(run, store) {
            return;
        }
        let Some(shown_run) = self.runs.get_mut(&run) else { return };
        for note in notes {
            shown_run.add(note);
        }
        self.draw(run);
    }

    /// Handles the end of a run.
    pub(crate) fn show_end(&mut self, run: RunNo, status: Status) {
        let Some(shown_run) = self.runs.remove(&run) else { return };
        self.hide_if_stalled();
        shown_run.open.values().flatten().for_each(ProgressBar::finish_and_clear);
        let rest = shown_run.rest(status);
        self.say(&rest);
    }

    /// Prints a message above the running steps.
    pub(crate) fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        // A command may have left its last line open.
        let before = if std::mem::take(&mut self.in_line) { "\n" } else { "" };
        let text = self.masks.mask(&format!("{before}{text}"));
        match &self.bars {
            Some(bars) if !terminal::is_stalled() => bars.suspend(|| terminal::message(&text)),
            _ => terminal::message(&text),
        }
    }

    /// Prints a question whose answer is typed after it.
    pub(crate) fn ask(&mut self, question: &str) {
        self.hold(true);
        self.say(question);
        self.in_line = true;
    }

    /// Continues after the answer was typed.
    pub(crate) fn typed(&mut self) {
        self.in_line = false;
        self.hold(false);
    }

    /// Prints the output of a command. On a terminal, only whole lines are printed, above the running steps.
    pub(crate) fn show_output(&mut self, text: &str) {
        if self.quiet {
            return;
        }
        if self.bars.is_none() {
            self.in_line = !text.ends_with('\n');
            return terminal::message(text);
        }
        self.unfinished.push_str(text);
        if let Some(end) = self.unfinished.rfind('\n') {
            let whole: String = self.unfinished.drain(..=end).collect();
            self.say(&whole);
        } else if self.unfinished.len() > LINE_BYTES {
            let line = std::mem::take(&mut self.unfinished);
            self.say(&format!("{line}\n"));
        }
    }

    /// Shows text of a model next to the step that called it.
    pub(crate) fn words(&mut self, run: &str, effect: EffectNo, text: Option<&str>) {
        let Some((run, shown_run)) = self.runs.iter_mut().find(|(_, shown_run)| shown_run.id == run) else { return };
        let (run, Some((_, at))) = (*run, self.calls.get(&(*run, effect))) else { return };
        shown_run.handle(*at, text);
        self.draw(run);
    }

    /// Moves the spinners.
    pub(crate) fn tick(&mut self) {
        if terminal::is_stalled() {
            return;
        }
        let open = self.runs.values().flat_map(|shown_run| shown_run.open.values().flatten());
        open.for_each(ProgressBar::tick);
    }

    /// Draws nothing more if the terminal accepts nothing.
    fn hide_if_stalled(&self) {
        if let Some(bars) = self.bars.as_ref().filter(|_| terminal::is_stalled()) {
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// Hides the running steps while a person types.
    fn hold(&mut self, held: bool) {
        if std::mem::replace(&mut self.held, held) == held {
            return;
        }
        if let Some(bars) = &self.bars {
            // A screen that cannot be cleared is not an error of the run.
            let _ = bars.clear();
            bars.set_draw_target(if held { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() });
        }
    }

    /// Closes a prompt before anything was typed.
    pub(crate) fn close_prompt(&mut self, why: &str) {
        self.say(why);
        self.hold(false);
    }

    /// Prints the rest and shows nothing more.
    pub(crate) fn close(&mut self) {
        let rest = std::mem::take(&mut self.unfinished);
        if !rest.is_empty() {
            self.say(&format!("{rest}\n"));
        }
        if std::mem::take(&mut self.in_line) {
            terminal::message("\n");
        }
        self.hide_if_stalled();
        if let Some(bars) = self.bars.take() {
            let _ = bars.clear();
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
        self.runs.clear();
    }

    fn ensure_run(&mut self, run: RunNo, store: &dyn Backend) -> bool {
        if self.runs.contains_key(&run) {
            return true;
        }
        let Ok(row) = store.row(run) else { return false };
        let Ok(Some(program)) = store.program(row.workflow, &row.part) else { return false };
        let call = row.parent.map(|parent| (parent.run, EffectNo(parent.effect)));
        let known = call.and_then(|call| Some((call.0, *self.calls.get(&call)?)));
        self.runs
            .insert(run, ShownRun::new(row.id, program, known.map_or(0, |(_, (depth, _))| depth), self.masks.clone()));
        // The calling step is the heading of the steps of the called run.
        let heading = known.and_then(|(parent, (_, at))| Some(self.runs.get_mut(&parent)?.line(at, true)));
        self.say(&heading.unwrap_or_default());
        true
    }

    /// Draws the running steps of a run.
    fn draw(&mut self, run: RunNo) {
        let Some(bars) = self.bars.as_ref().filter(|_| !terminal::is_stalled()) else { return };
        let shown = self.runs.values().flat_map(|shown_run| shown_run.open.values().flatten()).count();
        let mut room = BARS.saturating_sub(shown);
        let Some(shown_run) = self.runs.get_mut(&run) else { return };
        let items = &shown_run.items;
        for (at, bar) in &mut shown_run.open {
            let Some(record) = shown_run.records.get(*at) else { continue };
            if bar.is_none() && room > 0 {
                room -= 1;
                *bar = Some(bars.add(new_bar(record)));
            }
            let Some(bar) = bar else { continue };
            let words = shown_run.words.get(at).map_or("", String::as_str);
            let message = step_line::name(&shown_run.program, record, shown_run.depth) + &progress_text(record, words);
            bar.set_message(terminal::visible_line(&self.masks.mask(&message)));
            if let (Some(count), Some(positions)) = (record.items, items.get(at)) {
                if bar.length().is_none() {
                    bar.set_style(style("{spinner} {msg} [{bar:20}] {pos}/{len}  {elapsed}"));
                }
                bar.set_length(count.into());
                bar.set_position(positions.values().filter(|open| **open == 0).count() as u64);
            }
        }
    }
}

impl ShownRun {
    fn new(id: String, program: Program, depth: usize, masks: SharedSecrets) -> Self {
        Self {
            masks,
            id,
            records: Records::of(&program),
            program: Arc::new(program),
            depth,
            printed: Vec::new(),
            newest: BTreeMap::new(),
            open: BTreeMap::new(),
            words: BTreeMap::new(),
            items: BTreeMap::new(),
        }
    }

    /// Adds a note and returns the lines to print.
    fn add(&mut self, note: &Note) -> String {
        let Some(at) = self.records.add(note) else { return String::new() };
        self.printed.resize(self.records.count(), false);
        match &note.kind {
            NoteKind::Began(step, _) => {
                let lines = self.headings(*step, &note.path);
                if let Some(before) = self.newest.insert((*step, note.path.clone()), at) {
                    self.close(before);
                }
                self.open.insert(at, None);
                self.count(*step, &note.path, true);
                lines
            }
            NoteKind::Ended(step, _) | NoteKind::Failed(step, _) => {
                if self.close(at) {
                    self.count(*step, &note.path, false);
                }
                self.line(at, false)
            }
            NoteKind::Items(_) => {
                self.items.insert(at, BTreeMap::new());
                String::new()
            }
            _ => String::new(),
        }
    }

    /// Stores the end of a model's reply, on one line.
    fn handle(&mut self, at: usize, text: Option<&str>) {
        let Some(text) = text else {
            self.words.remove(&at);
            return;
        };
        let words = self.words.entry(at).or_default();
        words.extend(text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }));
        let surplus = words.chars().count().saturating_sub(WORDS);
        words.drain(..words.char_indices().nth(surplus).map_or(0, |(end, _)| end));
    }

    /// The line of a record; empty if it was printed before.
    fn line(&mut self, at: usize, heading: bool) -> String {
        if std::mem::replace(&mut self.printed[at], true) {
            return String::new();
        }
        let style = step_line::LineStyle { depth: self.depth, heading, live: true };
        let line = |record| step_line::line(&self.program, record, &self.masks.secrets(), style);
        self.records.get(at).map(line).unwrap_or_default()
    }

    /// The lines of the enclosing steps that were not printed yet.
    fn headings(&mut self, step: StepId, path: &[u32]) -> String {
        let parents = std::iter::successors(self.program.steps[step.index()].parent, |parent| {
            self.program.steps[parent.index()].parent
        });
        let around: Vec<usize> = parents.filter_map(|parent| self.around(parent, path)).collect();
        around.into_iter().rev().map(|at| self.line(at, true)).collect()
    }

    /// The record of an enclosing step, for a position in loops.
    fn around(&self, step: StepId, path: &[u32]) -> Option<usize> {
        let places = (0..=path.len()).rev().map(|length| &path[..length]);
        places.into_iter().find_map(|place| self.newest.get(&(step, place.to_vec())).copied())
    }

    /// Closes a record. Returns whether it was open.
    fn close(&mut self, at: usize) -> bool {
        let Some(bar) = self.open.remove(&at) else { return false };
        bar.iter().for_each(ProgressBar::finish_and_clear);
        self.items.remove(&at);
        self.words.remove(&at);
        true
    }

    /// Counts the open records of the items of the enclosing loops.
    fn count(&mut self, step: StepId, path: &[u32], began: bool) {
        let mut parent = self.program.steps[step.index()].parent;
        while let Some(around) = parent {
            if let Some(at) = self.around(around, path) {
                let outer = self.records.get(at).map_or(0, |record| record.path.len());
                if let (Some(positions), Some(position)) = (self.items.get_mut(&at), path.get(outer)) {
                    let open = positions.entry(*position).or_default();
                    *open = if began { *open + 1 } else { open.saturating_sub(1) };
                }
            }
            parent = self.program.steps[around.index()].parent;
        }
    }

    /// The lines of unfinished steps of an ended run, except for steps whose inner steps were printed.
    fn rest(self, status: Status) -> String {
        // A step without calls was not prevented from ending.
        let called = |at: &usize| self.records.get(*at).is_some_and(|record| !record.attempts.is_empty());
        let worked = |at: &usize| status != Status::Completed || called(at);
        let open: Vec<usize> = self.open.keys().copied().filter(|at| !self.printed[*at] && worked(at)).collect();
        let (program, depth, secrets) = (self.program, self.depth, self.masks.secrets());
        let records = self.records.finish(&program, status);
        let style = step_line::LineStyle { depth, heading: false, live: true };
        let lines = open
            .into_iter()
            .filter_map(|at| records.get(&at))
            .map(|record| step_line::line(&program, record, &secrets, style));
        lines.collect()
    }
}

fn new_bar(record: &StepRecord) -> ProgressBar {
    let bar = ProgressBar::no_length();
    bar.set_style(style("{spinner} {msg}  {elapsed}"));
    let waited =
        Duration::from_millis(u64::try_from(jiff::Timestamp::now().as_millisecond() - record.began_ms).unwrap_or(0));
    bar.with_elapsed(waited)
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.tick_strings(&["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏", " "]).progress_chars("█░░")
}

/// The attempt, wait, branch and model text of a running step.
fn progress_text(record: &StepRecord, words: &str) -> String {
    let attempt = match record.attempts.len() {
        0 | 1 => String::new(),
        count => format!(", attempt {count}"),
    };
    let waits = match record.status {
        StepStatus::Waiting(Status::WaitingPeople) => ", waits for people",
        StepStatus::Waiting(_) => ", waits",
        _ => "",
    };
    let branch = record.branch.as_ref().map(|branch| format!(" → {branch}")).unwrap_or_default();
    let words = match words.chars().count() {
        0 => String::new(),
        WORDS => format!(": …{words}"),
        _ => format!(": {words}"),
    };
    format!("{attempt}{waits}{branch}{words}")
}
