//! A program that uses every op, every kind of exit and every table once, for snapshots.

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec, effect};
use branchpoint_core::ir::{
    Arm, Backoff, Effect, Exit, Failure, Limits, Mark, OnEarly, OnFail, PlaceId, Program, Retry, Status, Want, Write,
};
use branchpoint_expr::{Dialect, Problems, Value};

/// Requests a plan from a model, processes each of its items, merges two branches, waits for a person, and ends.
pub(crate) fn tour() -> Program {
    build().expect("the expressions compile").finish().expect("the tour is valid")
}

fn build() -> Result<Builder, Problems> {
    let mut b = Builder::new();
    b.limits(Limits { effects: 500, wall_ms: 60_000, ..Limits::default() });
    b.fact("account");
    let (input, facts, now) = (b.input(), b.facts(), b.now());
    let plan = b.slot(ROOT, "plan", None);
    let error = b.slot(ROOT, "error", None);
    let results = b.slot(ROOT, "results", None);
    let answer = b.slot(ROOT, "answer", Some(Value::from("none")));
    let tries = b.slot(ROOT, "tries", Some(Value::Int(0)));
    for (path, slot) in [
        (&["input"][..], input),
        (&["metadata"], facts),
        (&["datetime", "now"], now),
        (&["step", "plan"], plan),
        (&["step", "answer"], answer),
        (&["step", "tries"], tries),
    ] {
        b.name(ROOT, path, slot);
    }
    let planning = b.step("plan", "agent", None, (10, 60));
    let working = b.step("work", "for_each", None, (70, 200));
    let item_step = b.step("item", "http", Some(working), (90, 180));

    let fallen = b.reserve();
    let fail = Some(Failure { to: fallen, error: Some(error) });

    let model = b.effect(Effect {
        fixed: [("system".into(), Value::from("be brief"))].into_iter().collect(),
        retry: Some(Retry {
            max_attempts: 3,
            delay_ms: 100,
            backoff: Backoff::Exponential(2.0),
            max_delay_ms: 5_000,
            jitter: 0.1,
        }),
        attempt_limit_ms: Some(30_000),
        step: Some(planning),
        ..effect(Kind::Model)
    });
    let question = b.expr(ROOT, "input.question", Dialect::Steps)?;
    let check = b.reserve();
    let ask = b.do_(model, question, Some(plan), check, fail);
    b.mark(ask, Mark::Begin(planning, Some(question)));
    let no_plan = b.condition(ROOT, "len(step.plan) == 0 && step.tries < 3", Dialect::Steps)?;
    let again = b.expr(ROOT, "step.tries + 1", Dialect::Steps)?;
    let (retry, work) = (b.reserve(), b.reserve());
    b.at(check).decide([(no_plan, retry)], work, fail);
    b.at(retry).set([Write::Put(tries, again)], ask, fail);

    let next = each_item(&mut b, work, results, working, item_step, fail)?;
    let person = b.reserve();
    merge(&mut b, next, person)?;
    person_decides(&mut b, person, answer, fail)?;

    let verdict = b.read(error);
    b.at(fallen).close(Status::Failed, verdict);
    let cancelled = b.value("cancelled");
    let cancel = b.close(Status::Cancelled, cancelled);
    b.on_cancel(cancel);
    b.view("results", verdict);
    b.root(ScopeSpec { time_limit_ms: Some(3_600_000), fail, ..ScopeSpec::default() });
    b.begin(ROOT, &[ask]);
    Ok(b)
}

fn each_item(
    b: &mut Builder,
    at: PlaceId,
    results: branchpoint_core::ir::SlotId,
    working: branchpoint_core::ir::StepId,
    item_step: branchpoint_core::ir::StepId,
    fail: Option<Failure>,
) -> Result<PlaceId, Problems> {
    let spec = ScopeSpec { width: 4, on_fail: Some(OnFail::Keep), into: Some(results), fail, ..ScopeSpec::default() };
    let each = b.scope(ROOT, spec);
    let (item, index) = (b.slot(each, "item", None), b.slot(each, "index", None));
    b.name(each, &["step", "item"], item);
    let got = b.local("got");
    let http = b.effect(effect(Kind::Http));
    let url = b.expr(each, "step.item.url", Dialect::Steps)?;
    let out = b.read(got);
    let done = b.leave(each, Exit::Done(Some(out)));
    let fetch = b.do_(http, url, Some(got), done, None);
    b.mark(fetch, Mark::Begin(item_step, None));
    b.mark(done, Mark::End(item_step, Some(out)));
    let items = b.expr(ROOT, "filter(step.plan, .url != nil)", Dialect::Steps)?;
    b.each(each, items, item, index, fetch);
    let enter = b.at(at).enter(each);
    b.mark(enter, Mark::Branch(working, "items".into()));
    Ok(b.next(each))
}

/// Two branches; the first waits for the edge that the second fills.
fn merge(b: &mut Builder, at: PlaceId, next: PlaceId) -> Result<(), Problems> {
    let spec = ScopeSpec { want: Some(Want::First(1)), next: Some(next), ..ScopeSpec::default() };
    let fan = b.scope(ROOT, spec);
    let edge = b.slot(fan, "edge", None);
    let nothing = b.leave(fan, Exit::Done(None));
    let value = b.read(edge);
    let delivers = b.leave(fan, Exit::Done(Some(value)));
    let now = b.expr(fan, "datetime.now", Dialect::Steps)?;
    let fills = b.set([Write::Put(edge, now)], nothing, None);
    let meet = b.meet([(edge, fills)], delivers, nothing);
    let fork = b.fork([fills, nothing]);
    b.begin(fan, &[meet, fork]);
    b.at(at).enter(fan);
    Ok(())
}

fn person_decides(
    b: &mut Builder,
    at: PlaceId,
    answer: branchpoint_core::ir::SlotId,
    fail: Option<Failure>,
) -> Result<(), Problems> {
    let payload = b.payload();
    b.name(ROOT, &["input_content_type"], payload);
    let resume = b.signal("resume", OnEarly::Keep);
    let check = b.condition(ROOT, "input_content_type != nil", Dialect::Steps)?;
    let mut question = branchpoint_expr::Object::default();
    question.insert("choices".into(), Value::from(vec![Value::from("yes"), Value::from("no")]));
    let (spec, minute) = (b.value(question), b.value(60_000));
    let result = b.read(answer);
    let end = b.close(Status::Completed, result);
    let late = b.set([Write::Clear(answer)], end, fail);
    let arms = [
        Arm::Signal { signal: resume, check: Some(check), into: Some(answer), next: end },
        Arm::Request { spec, into: Some(answer), next: end, expired: Some(late) },
        Arm::After { delay_ms: minute, next: late },
        Arm::Until { at_ms: minute, next: late },
    ];
    b.at(at).rest(arms, fail);
    Ok(())
}
