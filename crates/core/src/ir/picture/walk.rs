//! Computes arrows by following the code from step to step.

use std::collections::BTreeSet;

use super::super::{
    Arm, ConditionId, Entries, Exit, Failure, Index, Mark, Op, Place, PlaceId, Program, ScopeId, Status, StepId,
};
use super::node_shape::{is_inside, node_shapes};
use super::owners::Owners;
use super::path_facts::PathFacts;
use super::{Arrow, NodeShape, START, done, failed, of_step};

/// The shapes of all nodes, and the arrows between them.
pub(super) struct Drawn {
    pub(super) shapes: Vec<NodeShape>,
    pub(super) arrows: Vec<Arrow>,
}

/// Follows the code from every place where a step begins.
pub(super) fn draw(program: &Program, source: &str) -> Drawn {
    let titles = program.steps.iter().map(|step| &*step.id).collect();
    let first_step = program.steps.iter().map(|step| step.origin.0).min().unwrap_or_default();
    let walk = Walk { program, source, owners: Owners::new(program), handlers: handlers(program), first_step, titles };
    let mut arrows = Vec::new();
    let root = program.scope(Program::ROOT);
    for entry in super::super::flow::entries(root) {
        walk.follow(START, Path::to(*entry), None, &mut arrows);
    }
    for (place, record) in (0..).map(PlaceId).zip(&program.places) {
        arrows.extend(within(record));
        if let Some(from) = record.marks.iter().rev().find_map(begins) {
            for path in walk.paths(place, record) {
                walk.follow(of_step(from), path, Some(place), &mut arrows);
            }
        }
        walk.meet(record, &mut arrows);
    }
    tidy(&mut arrows, failed(program));
    let shapes = node_shapes(program, &walk.owners, &arrows);
    // A counting loop enters its body without a condition in the document.
    let plain = |arrow: &&Arrow| !arrow.failure && shapes[arrow.from] == NodeShape::Loop;
    let outward = arrows.iter().filter(plain).filter(|arrow| !is_inside(program, arrow.to, arrow.from));
    let leaves: BTreeSet<usize> = outward.map(|arrow| arrow.from).collect();
    for arrow in arrows.iter_mut().filter(|arrow| arrow.label.is_empty() && leaves.contains(&arrow.from)) {
        if is_inside(program, arrow.to, arrow.from) {
            "each round".clone_into(&mut arrow.label);
        }
    }
    Drawn { shapes, arrows }
}

/// The label of a path after a failure.
const ON_ERROR: &str = "on error";
/// The label of the path that is taken when a budget is used up.
const USED_UP: &str = "budget used up";

/// The maximum number of paths that are followed from a step. A diagram with more arrows would be unreadable.
const MAX_PATHS: usize = 10_000;

/// A path from a place.
#[derive(Clone)]
struct Path {
    to: PlaceId,
    label: String,
    failure: bool,
    /// Whether the path leads back to a loop. Such a path is drawn, but not followed.
    back: bool,
    /// Whether the path has led to an earlier place once. It must not do so again, because the search would not end.
    turned: bool,
    /// Facts about the strand that follows this path.
    facts: PathFacts,
}

impl Path {
    fn to(to: PlaceId) -> Self {
        Self { to, label: String::new(), failure: false, back: false, turned: false, facts: PathFacts::default() }
    }
}

struct Walk<'p> {
    program: &'p Program,
    source: &'p str,
    owners: Owners,
    /// The handlers of failures. Other paths to a handler raise an error of their own.
    handlers: BTreeSet<PlaceId>,
    /// The start of the first step in the source.
    first_step: u32,
    /// The ids of all steps.
    titles: BTreeSet<&'p str>,
}

impl Walk<'_> {
    /// Draws the arrows from the steps that fill the edges of a merge.
    fn meet(&self, record: &Place, arrows: &mut Vec<Arrow>) {
        let Op::Meet { edges, next, .. } = &record.op else { return };
        // A place that fills an edge without beginning a step is on a path to the merge, which is followed elsewhere.
        let filling = |place: PlaceId| self.program.place(place).marks.iter().rev().find_map(begins);
        let from: BTreeSet<StepId> = edges.iter().filter_map(|(_, place)| filling(*place)).collect();
        for step in from {
            // The arrow to the merge replaces the arrows to the end of the branch.
            arrows.retain(|arrow| arrow.from != of_step(step));
            self.follow(of_step(step), Path::to(*next), None, arrows);
        }
    }

    /// Follows a path until steps begin, and draws an arrow to each.
    fn follow(&self, from: usize, path: Path, at: Option<PlaceId>, arrows: &mut Vec<Arrow>) {
        let mut seen = BTreeSet::new();
        let mut open = vec![(at, path)];
        while let Some((at, mut path)) = open.pop().filter(|_| seen.len() < MAX_PATHS) {
            if !path.failure && self.handlers.contains(&path.to) {
                path = Path { failure: true, label: ON_ERROR.to_owned(), ..path };
            }
            if !seen.insert((path.to, path.failure, path.label.clone(), path.facts.clone())) {
                continue;
            }
            match self.arrival(at, &path) {
                Arrival::At(to) => arrows.push(Arrow { from, to, label: path.label, failure: path.failure }),
                Arrival::Nowhere => {}
                arrival @ (Arrival::On | Arrival::Round) => {
                    path.turned |= matches!(arrival, Arrival::Round);
                    let record = self.program.place(path.to);
                    let path = path.after_op(record);
                    let paths = self
                        .paths(path.to, record)
                        .into_iter()
                        .rev()
                        .filter(|next| path.facts.allows(self.program, record, next.to));
                    open.extend(paths.map(|next| (Some(path.to), path.clone().and(next))));
                }
            }
        }
    }

    fn arrival(&self, at: Option<PlaceId>, path: &Path) -> Arrival {
        let record = self.program.place(path.to);
        let back = path.back || at.is_some_and(|at| path.to <= at);
        if let Some(step) = record.marks.iter().find_map(begins) {
            return Arrival::At(of_step(step));
        }
        match &record.op {
            // A failure that leads back is not a connection in the document.
            _ if back && path.failure => Arrival::Nowhere,
            // The path leads back to an open step, or the code is only laid out before the place that leads to it.
            _ if back => match self.owners.of(path.to) {
                Some(step) => Arrival::At(of_step(step)),
                None if path.turned => Arrival::Nowhere,
                None => Arrival::Round,
            },
            Op::Leave { how: Exit::Close(verdict), .. } => match verdict.status {
                Status::Completed => Arrival::At(done(self.program)),
                Status::Failed if !path.failure => Arrival::At(failed(self.program)),
                _ => Arrival::Nowhere,
            },
            Op::Leave { scope, how: Exit::Done(_) } if *scope == Program::ROOT => Arrival::At(done(self.program)),
            _ => Arrival::On,
        }
    }

    /// The paths from a place, in document order.
    fn paths(&self, place: PlaceId, record: &Place) -> Vec<Path> {
        let mut paths = Vec::new();
        match &record.op {
            Op::Do { next, fail, .. } | Op::Set { next, fail, .. } => {
                paths.push(Path::to(*next));
                paths.extend(failure(*fail));
            }
            Op::Decide { arms, otherwise, fail } => {
                let conditions: Vec<Option<String>> = arms.iter().map(|(guard, _)| self.condition(*guard)).collect();
                let otherwise_label = if conditions.iter().any(Option::is_some) { "else" } else { "" };
                let arms = arms.iter().zip(&conditions);
                paths.extend(arms.map(|((_, to), label)| self.labelled(*to, label.as_deref().unwrap_or_default())));
                paths.push(self.labelled(*otherwise, otherwise_label));
                paths.extend(failure(*fail));
            }
            Op::Wait { arms, fail, .. } => {
                paths.extend(arms.iter().flat_map(|arm| self.arm(arm)));
                paths.extend(failure(*fail));
            }
            Op::Enter(scope) => {
                let record = self.program.scope(*scope);
                match &record.start {
                    Entries::Branches(places) => {
                        let drawn = places.iter().filter(|to| !self.only_skips(*scope, **to));
                        paths.extend(drawn.map(|to| self.labelled(*to, "")));
                    }
                    Entries::Each { place, .. } => {
                        paths.push(Path { label: "each item".to_owned(), ..Path::to(*place) });
                        paths.push(Path::to(record.next));
                    }
                }
                paths.extend(failure(record.fail));
                let exhausted = self.program.budget_of(*scope).and_then(|budget| budget.exhausted);
                paths.extend(exhausted.map(|exit| Path { label: USED_UP.to_owned(), ..Path::to(exit.to) }));
            }
            Op::Fork { to } => paths.extend(to.iter().map(|to| self.labelled(*to, ""))),
            Op::Leave { how: Exit::Goto(to), .. } => paths.push(Path { back: *to <= place, ..Path::to(*to) }),
            Op::Leave { scope, how: Exit::Done(_) } => match self.program.scope(*scope).start {
                // The next item begins at the loop.
                Entries::Each { .. } => paths.extend(self.owners.entering(*scope).and_then(|step| self.round(step))),
                Entries::Branches(_) => paths.push(Path::to(self.program.scope(*scope).next)),
            },
            Op::Leave { scope, how: Exit::Fail(_) } => paths.extend(failure(self.program.scope(*scope).fail)),
            Op::Leave { how: Exit::Close(_), .. } => {}
            Op::Meet { next, none, .. } => paths.extend([Path::to(*next), Path::to(*none)]),
        }
        paths
    }

    /// Whether an entry of a frame only skips steps, so that merges among them get their inputs. Such an entry is not a connection in the
    /// document.
    fn only_skips(&self, frame: ScopeId, entry: PlaceId) -> bool {
        let Op::Decide { arms, otherwise, .. } = &self.program.place(entry).op else { return false };
        let ends = |to: PlaceId| matches!(self.program.place(to).op, Op::Leave { scope, how: Exit::Done(None) } if scope == frame);
        let begun = self.program.place(*otherwise);
        let skips = matches!(begun.op, Op::Set { .. }) && begun.marks.is_empty();
        matches!(arms[..], [(_, to)] if ends(to)) && skips
    }

    /// The path back to the beginning of a step.
    fn round(&self, step: StepId) -> Option<Path> {
        let begins_here = |place: &Place| place.marks.iter().filter_map(begins).any(|begun| begun == step);
        let place = self.program.places.iter().position(begins_here)?;
        Some(Path { back: true, ..Path::to(PlaceId(u32::try_from(place).ok()?)) })
    }

    fn arm(&self, arm: &Arm) -> Vec<Path> {
        match arm {
            Arm::Signal { signal, next, .. } => {
                let name = self.program.signals.get(signal.index()).map_or("", |signal| &signal.name);
                vec![Path { label: name.to_owned(), ..Path::to(*next) }]
            }
            Arm::Request { next, expired, .. } => {
                let late = expired.map(|to| Path { label: "timeout".to_owned(), ..Path::to(to) });
                std::iter::once(Path::to(*next)).chain(late).collect()
            }
            Arm::After { next, .. } | Arm::Until { next, .. } => vec![Path::to(*next)],
        }
    }

    /// A path labelled with its name in the document, if any, and its condition.
    fn labelled(&self, to: PlaceId, condition: &str) -> Path {
        let marker = self.program.place(to).marks.iter().find_map(|mark| match mark {
            Mark::Branch(_, name) => Some(&**name),
            _ => None,
        });
        let label = match marker {
            // The name of the target step is visible at the target.
            Some(name) if !condition.is_empty() && self.titles.contains(name) => condition.to_owned(),
            Some(name) if condition.is_empty() || condition == "else" || name == condition => name.to_owned(),
            Some(name) => format!("{name}: {condition}"),
            None => condition.to_owned(),
        };
        Path { label, ..Path::to(to) }
    }

    /// A condition as written in the document, or converted to an expression. None for generated conditions, such as those of counting
    /// loops, whose spans are before the first step.
    fn condition(&self, id: ConditionId) -> Option<String> {
        let condition = self.program.conditions.get(id.index())?;
        let span = condition.span();
        (self.first_step <= span.start).then_some(())?;
        let written = span.text(self.source).trim();
        let as_written = condition.is_verbatim() && !written.contains('\n');
        Some(if as_written { written.to_owned() } else { unwrapped(&condition.to_string()).to_owned() })
    }
}

/// A text without parentheses that enclose all of it.
fn unwrapped(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else { return text };
    let mut depth = 0_i32;
    let is_whole = inner.chars().all(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth >= 0
    });
    if is_whole { inner } else { text }
}

enum Arrival {
    /// An arrow ends at this node.
    At(usize),
    /// The path continues.
    On,
    /// The path continues at an earlier place.
    Round,
    /// The path is not drawn.
    Nowhere,
}

impl Path {
    /// The path after the op of its place, labelled with failures and warnings.
    fn after_op(mut self, record: &Place) -> Self {
        self.facts.apply(&record.op);
        for mark in &record.marks {
            match mark {
                Mark::Fail(..) => self.failure = true,
                Mark::Warn(_, warning) => self = Self { label: warning.to_string(), ..self },
                _ => {}
            }
        }
        self
    }

    /// Appends a path to this one.
    fn and(self, next: Self) -> Self {
        let label = match (self.label.is_empty(), next.label.is_empty()) {
            (true, _) => next.label,
            (false, false) if self.label != next.label => format!("{}, {}", self.label, next.label),
            (false, _) => self.label,
        };
        let (failure, turned) = (self.failure || next.failure, self.turned);
        Self { label, failure, turned, facts: self.facts, ..next }
    }
}

/// Arrows between steps that begin at the same place.
fn within(record: &Place) -> Vec<Arrow> {
    let begun: Vec<usize> = record.marks.iter().filter_map(begins).map(of_step).collect();
    let arrow = |pair: &[usize]| Arrow { from: pair[0], to: pair[1], label: String::new(), failure: false };
    begun.windows(2).map(arrow).collect()
}

fn failure(fail: Option<Failure>) -> Option<Path> {
    fail.map(|fail| Path { label: ON_ERROR.to_owned(), failure: true, ..Path::to(fail.to) })
}

fn handlers(program: &Program) -> BTreeSet<PlaceId> {
    let of_op = |op: &Op| match op {
        Op::Do { fail, .. } | Op::Decide { fail, .. } | Op::Set { fail, .. } | Op::Wait { fail, .. } => *fail,
        Op::Enter(_) | Op::Fork { .. } | Op::Leave { .. } | Op::Meet { .. } => None,
    };
    let failures = program.places.iter().filter_map(|place| of_op(&place.op));
    failures.chain(program.scopes.iter().filter_map(|scope| scope.fail)).map(|fail| fail.to).collect()
}

fn begins(mark: &Mark) -> Option<StepId> {
    match mark {
        Mark::Begin(step, _) => Some(*step),
        _ => None,
    }
}

/// Removes duplicate arrows, and arrows for failures that lead to the same node as a normal arrow.
fn tidy(arrows: &mut Vec<Arrow>, failed: usize) {
    // Arrows for failures are dashed, so their label shows only the condition, if there is one.
    for arrow in arrows.iter_mut().filter(|arrow| arrow.failure) {
        let condition = arrow.label.strip_prefix(ON_ERROR).map(|rest| rest.strip_prefix(", ").unwrap_or(rest));
        let condition = condition.unwrap_or(&arrow.label);
        arrow.label = if condition.is_empty() { ON_ERROR.to_owned() } else { condition.to_owned() };
    }
    let normal: BTreeSet<(usize, usize)> =
        arrows.iter().filter(|arrow| !arrow.failure).map(|arrow| (arrow.from, arrow.to)).collect();
    arrows.retain(|arrow| !arrow.failure || !normal.contains(&(arrow.from, arrow.to)));
    // A run that is rejected before its first step is not a connection in the document.
    arrows.retain(|arrow| (arrow.from, arrow.to) != (START, failed));
    let mut seen = BTreeSet::new();
    arrows.retain(|arrow| seen.insert(arrow.clone()));
    arrows.sort_by_key(|arrow| arrow.from);
}
