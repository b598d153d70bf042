//! The text form of a program, for snapshots in tests and for debugging.

use std::fmt::{self, Write};

use branchpoint_expr::Value;

use super::nesting::homes;
use super::validate::check_ids;
use super::{
    Arm, Backoff, Budget, ConditionId, EffectId, Entries, Exit, ExprId, Failure, Home, Index, Limits, Mark, OnEarly,
    OnFail, Op, Place, Program, Retry, Scope, ScopeId, SignalId, SlotId, StepId, Want, Write as Writes,
};

/// The text form of a program: one line for each place, in order. Empty tables are omitted.
///
/// The text is deterministic. Invalid ids are printed as numbers.
///
/// ```
/// let program = branchpoint_core::ir::builder::Builder::sample();
/// assert!(branchpoint_core::ir::print(&program).contains("completed"));
/// ```
pub fn print(program: &Program) -> String {
    let mut out = String::new();
    write(&mut out, &Printer(program)).expect("writing to a string does not fail");
    out
}

fn write(out: &mut String, printer: &Printer<'_>) -> fmt::Result {
    let program = printer.0;
    writeln!(out, "program  semantics {}, fuel {}", program.semantics, program.fuel)?;
    limits(out, &program.limits)?;
    if !program.facts.is_empty() {
        writeln!(out, "facts    {}", program.facts.join(", "))?;
    }
    if let Some(place) = program.on_cancel {
        writeln!(out, "cancel   -> p{}", place.0)?;
    }
    for (id, scope) in program.scopes.iter().enumerate() {
        printer.scope(out, id, scope)?;
    }
    let is_valid = check_ids(program).is_empty();
    let homes = if is_valid { homes(program, |_, _, _| {}) } else { vec![None; program.places.len()] };
    section(out, program.places.len())?;
    for ((id, place), home) in program.places.iter().enumerate().zip(homes) {
        let home = home.map_or_else(|| "-".to_owned(), |scope| format!("s{}", scope.0));
        writeln!(out, "p{id:<4} {home:<4} {}", printer.place(place))?;
    }
    section(out, program.slots.len())?;
    for (id, slot) in program.slots.iter().enumerate() {
        let home = match slot.home {
            Home::Frame(scope, position) => format!("s{}.{position}", scope.0),
            Home::Local(position) => format!("local.{position}"),
            Home::Payload => "payload".to_owned(),
            Home::Now => "now".to_owned(),
            Home::Clock { zone, date: false } => format!("now.{zone}"),
            Home::Clock { zone, date: true } => format!("date.{zone}"),
            Home::Meter(scope) => format!("meter.s{}", scope.0),
        };
        let first = slot.first.as_ref().map_or_else(String::new, |first| format!(" = {first:?}"));
        writeln!(out, "v{id:<4} {home:<9} {}{first}", slot.name)?;
    }
    printer.tables(out)
}

fn section(out: &mut String, entries: usize) -> fmt::Result {
    if entries == 0 { Ok(()) } else { out.write_char('\n') }
}

struct Printer<'p>(&'p Program);

impl Printer<'_> {
    fn scope(&self, out: &mut String, id: usize, scope: &Scope) -> fmt::Result {
        let parent = scope.parent.map_or_else(|| "root".to_owned(), |parent| format!("in s{}", parent.0));
        let start = match &scope.start {
            Entries::Branches(places) => {
                places.iter().map(|place| format!("p{}", place.0)).collect::<Vec<_>>().join(" | ")
            }
            Entries::Each { items, item, index, place } => {
                let (items, item, index) = (self.expr(*items), self.slot(*item), self.slot(*index));
                format!("p{} for each {item}, {index} of {items}", place.0)
            }
        };
        write!(out, "scope s{id}  {parent}: {start}")?;
        if scope.width > 0 {
            write!(out, ", width {}", scope.width)?;
        }
        match scope.want {
            Want::All => {}
            Want::First(count) => write!(out, ", first {count}")?,
        }
        match scope.on_fail {
            OnFail::Stop => {}
            OnFail::Keep => out.write_str(", keep failures")?,
        }
        if let Some(slot) = scope.into {
            write!(out, ", into {}", self.slot(slot))?;
        }
        if let Some(slot) = scope.outcomes {
            write!(out, ", outcomes into {}", self.slot(slot))?;
        }
        out.write_str(&retry(scope.retry))?;
        if let Some(limit) = scope.time_limit_ms {
            write!(out, ", within {limit} ms")?;
        }
        if id != Program::ROOT.index() {
            write!(out, ", then p{}", scope.next.0)?;
        }
        let budget = self.0.budget_of(ScopeId(u32::try_from(id).unwrap_or(u32::MAX)));
        writeln!(out, "{}{}", self.fail(scope.fail), budget.map(|budget| self.budget(budget)).unwrap_or_default())
    }

    fn budget(&self, budget: &Budget) -> String {
        let limits =
            [("tokens", budget.limits.tokens), ("micros", budget.limits.cost_micros), ("ms", budget.limits.time_ms)];
        let limits = limits.into_iter().filter_map(|(unit, limit)| Some(format!(" {} {unit}", limit?)));
        let exit = budget.exhausted.map(|exit| format!(", used up p{}{}", exit.to.0, self.into(exit.error)));
        format!(", budget{}{}", limits.collect::<String>(), exit.unwrap_or_default())
    }

    fn place(&self, place: &Place) -> String {
        let mut line = self.op(&place.op);
        for (index, mark) in place.marks.iter().enumerate() {
            line.push_str(if index == 0 { "   ; " } else { ", " });
            line.push_str(&self.mark(mark));
        }
        if let Some(decides) = &place.decides {
            let exits =
                decides.exits.iter().map(|exit| exit.map_or_else(|| "-".to_owned(), |branch| branch.to_string()));
            line = format!("{line}   ; decision {} [{}]", decides.decision.0, exits.collect::<Vec<_>>().join(" "));
        }
        line
    }

    fn op(&self, op: &Op) -> String {
        match op {
            Op::Do { effect, input, into, next, fail } => {
                let (effect, input, into) = (self.effect(*effect), self.expr(*input), self.into(*into));
                format!("do      {effect}({input}){into}, then p{}{}", next.0, self.fail(*fail))
            }
            Op::Decide { arms, otherwise, fail } => {
                let arms = arms.iter().map(|(guard, to)| format!("{} -> p{}, ", self.condition(*guard), to.0));
                format!("decide  {}else p{}{}", arms.collect::<String>(), otherwise.0, self.fail(*fail))
            }
            Op::Set { writes, next, fail } => {
                let writes = writes.iter().map(|write| match write {
                    Writes::Put(slot, value) => format!("{} = {}, ", self.slot(*slot), self.expr(*value)),
                    Writes::Push(slot, value) => format!("{} push {}, ", self.slot(*slot), self.expr(*value)),
                    Writes::Clear(slot) => format!("clear {}, ", self.slot(*slot)),
                });
                format!("set     {}then p{}{}", writes.collect::<String>(), next.0, self.fail(*fail))
            }
            Op::Wait { arms, fail, rest } => {
                let arms: Vec<_> = arms.iter().map(|arm| self.arm(arm)).collect();
                let rest = if *rest { " (rest)" } else { "" };
                format!("wait    {}{}{rest}", arms.join(", "), self.fail(*fail))
            }
            Op::Enter(scope) => format!("enter   s{}", scope.0),
            Op::Fork { to } => {
                format!("fork    {}", to.iter().map(|to| format!("p{}", to.0)).collect::<Vec<_>>().join(", "))
            }
            Op::Leave { scope, how } => format!("leave   s{} {}", scope.0, self.exit(how)),
            Op::Meet { edges, next, none } => {
                let edges = edges.iter().map(|(slot, from)| format!("{} from p{}, ", self.slot(*slot), from.0));
                format!("meet    {}then p{}, none p{}", edges.collect::<String>(), next.0, none.0)
            }
        }
    }

    fn exit(&self, how: &Exit) -> String {
        match how {
            Exit::Done(None) => "done".to_owned(),
            Exit::Done(Some(value)) => format!("done {}", self.expr(*value)),
            Exit::Fail(error) => format!("fail {}", self.expr(*error)),
            Exit::Goto(place) => format!("goto p{}", place.0),
            Exit::Close(verdict) => format!("close {} {}", verdict.status.as_str(), self.expr(verdict.result)),
        }
    }

    fn arm(&self, arm: &Arm) -> String {
        match arm {
            Arm::Signal { signal, check, into, next } => {
                let check = check.map_or_else(String::new, |check| format!(" if {}", self.condition(check)));
                format!("signal {}{check}{} -> p{}", self.signal(*signal), self.into(*into), next.0)
            }
            Arm::Request { spec, into, next, expired } => {
                let expired = expired.map_or_else(String::new, |place| format!(", expired p{}", place.0));
                format!("request {}{} -> p{}{expired}", self.expr(*spec), self.into(*into), next.0)
            }
            Arm::After { delay_ms, next } => format!("after {} ms -> p{}", self.expr(*delay_ms), next.0),
            Arm::Until { at_ms, next } => format!("until {} ms -> p{}", self.expr(*at_ms), next.0),
        }
    }

    fn mark(&self, mark: &Mark) -> String {
        let shown = |value: &Option<ExprId>| value.map_or_else(String::new, |value| format!(" {}", self.expr(value)));
        match mark {
            Mark::Begin(step, input) => format!("begin {}{}", self.step(*step), shown(input)),
            Mark::End(step, output) => format!("end {}{}", self.step(*step), shown(output)),
            Mark::Branch(step, marker) => format!("branch {} {marker}", self.step(*step)),
            Mark::Warn(step, kind) => format!("warn {} {kind}", self.step(*step)),
            Mark::Skip(step, reason) => format!("skip {} {reason}", self.step(*step)),
            Mark::ContentType(step, value) => format!("content type of {}{}", self.step(*step), shown(&Some(*value))),
            Mark::Fail(step, error) => format!("fail {}{}", self.step(*step), shown(&Some(*error))),
        }
    }

    /// Effects, signals, views, steps and decisions.
    fn tables(&self, out: &mut String) -> fmt::Result {
        let program = self.0;
        section(out, program.effects.len() + program.signals.len() + program.views.len() + program.steps.len())?;
        for (id, effect) in program.effects.iter().enumerate() {
            let fixed = if effect.fixed.is_empty() {
                String::new()
            } else {
                format!(" {:?}", Value::from(effect.fixed.clone()))
            };
            let secrets: Vec<_> = effect.secrets.iter().map(|secret| format!(", secret {secret}")).collect();
            let limit =
                effect.attempt_limit_ms.map_or_else(String::new, |limit| format!(", attempt within {limit} ms"));
            let step = effect.step.map_or_else(String::new, |step| format!(", step {}", self.step(step)));
            writeln!(
                out,
                "effect {id}  {}{fixed}{}{}{}{limit}{step}",
                effect.kind,
                effect.response,
                secrets.concat(),
                retry(effect.retry)
            )?;
        }
        for (id, signal) in program.signals.iter().enumerate() {
            let early = if signal.on_early == OnEarly::Keep { ", kept when early" } else { "" };
            writeln!(out, "signal {id}  {}{early}", signal.name)?;
        }
        for (id, view) in program.views.iter().enumerate() {
            writeln!(out, "view {id}  {} = {}", view.name, self.expr(view.value))?;
        }
        for (id, step) in program.steps.iter().enumerate() {
            let parent = step.parent.map_or_else(String::new, |parent| format!(" in {}", self.step(parent)));
            writeln!(out, "step {id}  {} {}{parent} at {}..{}", step.kind, step.id, step.origin.0, step.origin.1)?;
        }
        for (id, decision) in program.decisions.iter().enumerate() {
            let branches = decision.branches.iter().map(|branch| {
                let text = branch.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
                let targets = branch.targets.join(", ");
                let arrow = if targets.is_empty() { "" } else { " -> " };
                format!("{}{text}{arrow}{targets}", branch.name)
            });
            let branches: Vec<String> = branches.collect();
            let (kind, step) = (decision.kind.as_str(), self.step(decision.step));
            writeln!(out, "decision {id}  {kind} {step}: {}", branches.join(" | "))?;
        }
        Ok(())
    }

    fn fail(&self, fail: Option<Failure>) -> String {
        fail.map_or_else(String::new, |fail| format!(", fail p{}{}", fail.to.0, self.into(fail.error)))
    }

    fn into(&self, slot: Option<SlotId>) -> String {
        slot.map_or_else(String::new, |slot| format!(" into {}", self.slot(slot)))
    }

    fn slot(&self, id: SlotId) -> String {
        self.0.slots.get(id.index()).map_or_else(|| format!("v{}", id.0), |slot| format!("v{}:{}", id.0, slot.name))
    }

    fn expr(&self, id: ExprId) -> String {
        self.0.exprs.get(id.index()).map_or_else(|| format!("e{}", id.0), ToString::to_string)
    }

    fn condition(&self, id: ConditionId) -> String {
        self.0.conditions.get(id.index()).map_or_else(|| format!("c{}", id.0), ToString::to_string)
    }

    fn effect(&self, id: EffectId) -> String {
        self.0
            .effects
            .get(id.index())
            .map_or_else(|| format!("effect {}", id.0), |effect| format!("{}#{}", effect.kind, id.0))
    }

    fn signal(&self, id: SignalId) -> String {
        self.0.signals.get(id.index()).map_or_else(|| format!("signal {}", id.0), |signal| signal.name.to_string())
    }

    fn step(&self, id: StepId) -> String {
        self.0.steps.get(id.index()).map_or_else(|| format!("step {}", id.0), |step| step.id.to_string())
    }
}

fn limits(out: &mut String, limits: &Limits) -> fmt::Result {
    let Limits { ops, effects, tokens, cost_micros, wall_ms, depth, value_bytes, state_bytes } = *limits;
    let all = [
        ("ops", ops),
        ("effects", effects),
        ("tokens", tokens),
        ("cost_micros", cost_micros),
        ("wall_ms", wall_ms),
        ("depth", u64::from(depth)),
        ("value_bytes", value_bytes),
        ("state_bytes", state_bytes),
    ];
    let set: Vec<_> =
        all.iter().filter(|(_, limit)| *limit > 0).map(|(name, limit)| format!("{name} {limit}")).collect();
    if set.is_empty() { Ok(()) } else { writeln!(out, "limits   {}", set.join(", ")) }
}

fn retry(retry: Option<Retry>) -> String {
    let Some(Retry { max_attempts, delay_ms, backoff, max_delay_ms, jitter }) = retry else { return String::new() };
    let grows = match backoff {
        Backoff::Constant => String::new(),
        Backoff::Linear => " linear".to_owned(),
        Backoff::Exponential(factor) => format!(" times {factor}"),
    };
    let most = if max_delay_ms > 0 { format!(" at most {max_delay_ms} ms") } else { String::new() };
    let jitter = if jitter > 0.0 { format!(" jitter {jitter}") } else { String::new() };
    format!(", {max_attempts} attempts after {delay_ms} ms{grows}{most}{jitter}")
}
