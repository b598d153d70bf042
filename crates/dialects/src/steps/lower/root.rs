//! The run as a whole: its input, its result, its failure.

use std::collections::BTreeSet;

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{ExprId, Failure, PlaceId, SlotId, Status, Write};
use branchpoint_expr::{Located, Object, Value};

use super::{Location, Lower};
use crate::lowering::texts;
use crate::steps::policy::{self, Action, Policy};

/// The content types of the run's input that a document may declare.
const INPUT_TYPES: [&str; 4] = ["text/plain", "text/html", "application/json", "application/xml"];

impl Lower<'_, '_> {
    pub(super) fn root(&mut self) {
        self.names();
        self.selectors();
        let at = Location { scope: ROOT, home: ROOT };
        self.name_usage();
        self.labels();
        self.keep_in(ROOT, None);
        self.edges_in(ROOT, None);
        let result = self.completed_result();
        let end = self.b.close(Status::Completed, result);
        let failed = self.failed_result();
        let failed = self.b.close(Status::Failed, failed);
        self.b.root(ScopeSpec { fail: Some(self.fail_to(failed)), ..ScopeSpec::default() });
        let cancelled = self.result(r#"{"status": "cancelled", "output": nil, "error": nil}"#, &[]);
        let cancelled = self.b.close(Status::Cancelled, cancelled);
        self.b.on_cancel(cancelled);
        let begin = self.budgeted_root(at, end);
        let begin = self.typed_input(begin, failed);
        let begin = self.checked_inputs(begin);
        let start = self.start(begin);
        self.b.begin(ROOT, &[start]);
    }

    /// The names of section 4 of the spec, but for those of steps.
    fn names(&mut self) {
        let input = self.b.input();
        let now = self.b.now();
        let named = self.own.document.located.get("name").filter(|name| !name.is_null()).map(Located::to_value);
        let name = self.b.slot(ROOT, "agent.name", named);
        let metadata = self.b.slot(ROOT, "metadata", None);
        self.b.name(ROOT, &["input"], self.slots["value"]);
        self.b.name(ROOT, &["input_content_type"], self.slots["kind"]);
        self.b.name(ROOT, &["error"], self.slots["error"]);
        self.b.name(ROOT, &["agent", "input"], input);
        self.b.name(ROOT, &["agent", "name"], name);
        self.b.name(ROOT, &["metadata"], metadata);
        self.b.name(ROOT, &["datetime", "now"], now);
        self.own.named.insert("metadata", metadata);
        for fact in ["metadata", "content_type"] {
            self.b.fact(fact);
        }
        for (fact, mentioned) in [("agent_id", "agent.id"), ("run_id", "agent.run_id")] {
            if texts(self.own.document.located).any(|text| text.contains(mentioned)) {
                let slot = self.b.slot(ROOT, fact, None);
                self.b.name(ROOT, &["agent", &mentioned["agent.".len()..]], slot);
                self.b.fact(fact);
                self.own.named.insert(fact, slot);
            }
        }
        let actions: BTreeSet<Action> = policy::all(self.own.document).filter_map(Policy::action).collect();
        if actions.contains(&Action::Flag) {
            let slot = self.b.slot(ROOT, "flags", Some(Value::from(Vec::new())));
            let flags = self.b.read(slot);
            self.b.view("flags", flags);
            self.own.named.insert("flags", slot);
        }
        let asks = self.own.document.steps.iter().any(|step| step.is("human_in_the_loop"));
        if asks || actions.contains(&Action::Ask) {
            let slot = self.b.slot(ROOT, "account", None);
            self.b.fact("account");
            self.own.named.insert("account", slot);
        } else if self.own.document.steps.iter().any(|step| step.is("call_workflow") || step.is("call_agent")) {
            // Approvals of called workflows need it.
            self.b.fact("account");
        }
        if self.own.plan.has_files {
            let slot = self.b.slot(ROOT, "attachments", None);
            self.b.fact("attachments");
            self.own.named.insert("attachments", slot);
        }
        if self.own.document.steps.iter().any(|step| step.kind.shows()) {
            let slot = self.b.slot(ROOT, "shown", None);
            self.own.named.insert("shown", slot);
        }
    }

    /// Shows the names that steps have beside their ids.
    fn labels(&mut self) {
        let named = self.own.document.steps.iter().filter_map(|step| {
            let name = step.located.get("name").and_then(Located::text)?;
            Some((step.id.clone(), Value::Str(name.clone())))
        });
        let names: Object = named.collect();
        if !names.is_empty() {
            let names = self.b.value(Value::from(names));
            self.b.view("names", names);
        }
    }

    fn start(&mut self, next: PlaceId) -> PlaceId {
        let names = [("input", self.b.input()), ("facts", self.b.facts())];
        let kind = r#"facts.content_type ?? (type(value) == "string" ? "text/plain" : "application/json")"#;
        let mut puts = vec![(self.slots["value"], "input".to_owned()), (self.slots["kind"], kind.to_owned())];
        let named = self.own.named.iter().filter(|(fact, _)| !["shown", "flags"].contains(*fact));
        puts.extend(named.map(|(fact, slot)| (*slot, format!("facts.{fact}"))));
        if self.own.plan.has_files {
            puts.push((self.slots["files"], "facts.attachments.input ?? attachmentsIn(input)".to_owned()));
        }
        let writes: Vec<_> = puts.iter().map(|(slot, text)| self.store_with(*slot, text, &names, &[])).collect();
        self.b.set(writes, next, None)
    }

    /// Fills in the defaults of declared inputs and checks all of them; a run with wrong inputs ends before its first step.
    fn checked_inputs(&mut self, begin: PlaceId) -> PlaceId {
        let Some(declared) = &self.own.document.inputs else { return begin };
        declared.add_views(&mut self.b);
        let problems = self.b.slot(ROOT, "problems", None);
        let (input, metadata) = (self.b.input(), self.own.named["metadata"]);
        let names = [("metadata", metadata), ("problems", problems)];
        let rejected = self.formula_with(
            r#"{"status": "rejected", "output": nil, "output_content_type": nil,
                "error": {"kind": problems[0].kind, "message": join(map(problems, #.message), "; "), "step": nil}}"#,
            &names,
            &[],
        );
        let rejected = self.b.close(Status::Failed, rejected);
        let kind = r#"probe.input == nil || value == probe.input ? kind
            : type(probe.input) == "string" ? "text/plain" : "application/json""#;
        let writes = [
            self.store("kind", kind),
            self.store("value", "probe.input ?? value"),
            self.store(input, "value"),
            self.store(metadata, "probe.metadata ?? {}"),
        ];
        let checked = self.b.set(writes, begin, None);
        let wrong = self.test_with("len(problems) > 0", &names, &[]);
        let decide = self.b.decide([(wrong, rejected)], checked, None);
        let constants = [("declared", declared.list.clone())];
        // A run without an input starts with empty text, one without metadata with none.
        let given = r#"withDefaults({"input": value == "" ? nil : value,
            "metadata": len(metadata ?? {}) == 0 ? nil : metadata}, declared)"#;
        let writes = [
            self.store_with("probe", given, &names, &constants),
            self.store_with(problems, "inputProblems(probe, declared)", &[], &constants),
        ];
        self.b.set(writes, decide, None)
    }

    /// Sets the content type of the input; the run fails if it is unknown.
    fn typed_input(&mut self, begin: PlaceId, failed: PlaceId) -> PlaceId {
        let Some(template) = self.own.document.located.get("input_content_type").filter(|value| !value.is_null())
        else {
            return begin;
        };
        let resolved = self.template(ROOT, template);
        let typed = self.assign("kind", "probe", begin);
        let bad = self.fault(
            "input_content_type",
            "`input_content_type` gives no content type that a run can begin with",
            Failure { to: failed, error: None },
        );
        let known: Vec<String> = INPUT_TYPES.iter().map(|known| format!("probe == {known:?}")).collect();
        let known = self.test(&known.join(" || "));
        let decide = self.b.decide([(known, typed)], bad, None);
        self.b.set([Write::Put(self.slots["probe"], resolved)], decide, None)
    }

    /// The output is what was shown last, else the tail of the root chain.
    fn completed_result(&mut self) -> ExprId {
        let Some(shown) = self.own.named.get("shown").copied() else {
            let text = r#"{"status": "completed", "output": value, "output_content_type": kind, "error": nil}"#;
            return self.result(text, &[]);
        };
        let text = r#"{"status": "completed", "output": shown == nil ? value : shown.v,
            "output_content_type": shown == nil ? kind : shown.k, "html_format": shown.html, "error": nil}"#;
        self.result(text, &[("shown", shown)])
    }

    /// A result, with the flags of the run if policies can set some. The slots of a run are gone when it has ended.
    fn result(&mut self, text: &str, slots: &[(&str, SlotId)]) -> ExprId {
        match self.own.named.get("flags").copied() {
            None => self.formula_with(text, slots, &[]),
            Some(flags) => {
                let slots: Vec<_> = slots.iter().copied().chain([("flags", flags)]).collect();
                self.formula_with(
                    &format!(r#"{}, "flags": flags}}"#, text.strip_suffix('}').unwrap_or(text)),
                    &slots,
                    &[],
                )
            }
        }
    }

    pub(super) fn failed_result(&mut self) -> ExprId {
        let text = r#"{"status": "failed", "output": nil, "output_content_type": nil,
            "error": {"kind": failed.kind, "message": failed.message, "step": failed.step}}"#;
        self.result(text, &[])
    }
}
