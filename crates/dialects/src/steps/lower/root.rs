//! The run as a whole: what it begins with, what it gives, how it fails.

use branchpoint_core::ir::builder::{ROOT, ScopeSpec};
use branchpoint_core::ir::{ExprId, Failure, PlaceId, SlotId, Status, Write};
use branchpoint_expr::{Located, Value};

use super::plan::mentions;
use super::{Lower, Where};

/// What a document may say the run's input is.
const INPUT_TYPES: [&str; 4] = ["text/plain", "text/html", "application/json", "application/xml"];

impl Lower<'_, '_> {
    pub(super) fn root(&mut self) {
        self.names();
        self.selectors();
        let at = Where { scope: ROOT, home: ROOT };
        self.keep_in(ROOT, None);
        self.edges_in(ROOT, None);
        let result = self.completed_result();
        let end = self.b.close(Status::Completed, result);
        let failed = self.failed_result();
        let failed = self.b.close(Status::Failed, failed);
        let error = Some(self.l.failed);
        self.b.root(ScopeSpec { fail: Some(Failure { to: failed, error }), ..ScopeSpec::default() });
        let cancelled = [("status", Value::from("cancelled")), ("output", Value::Null), ("error", Value::Null)];
        let cancelled = cancelled.into_iter().map(|(key, value)| (key.into(), value));
        let cancelled = self.b.value(Value::from(cancelled.collect::<branchpoint_expr::Object>()));
        let cancelled = self.b.close(Status::Cancelled, cancelled);
        self.b.on_cancel(cancelled);
        let steps = self.document.root.steps.clone();
        let (begin, _) = self.chain(&steps, at, end, end);
        let begin = self.typed_input(begin, failed);
        let begin = self.checked_inputs(begin);
        let start = self.start(begin);
        self.b.begin(ROOT, &[start]);
    }

    /// The names of section 4 of the spec, but for those of steps.
    fn names(&mut self) {
        let input = self.b.input();
        let now = self.b.now();
        let named = self.document.located.get("name").filter(|name| !name.is_null()).map(Located::to_value);
        let name = self.b.slot(ROOT, "agent.name", named);
        let metadata = self.b.slot(ROOT, "metadata", None);
        self.b.name(ROOT, &["input"], self.l.value);
        self.b.name(ROOT, &["input_content_type"], self.l.kind);
        self.b.name(ROOT, &["error"], self.l.error);
        self.b.name(ROOT, &["agent", "input"], input);
        self.b.name(ROOT, &["agent", "name"], name);
        self.b.name(ROOT, &["metadata"], metadata);
        self.b.name(ROOT, &["datetime", "now"], now);
        self.named.insert("metadata", metadata);
        for fact in ["metadata", "content_type"] {
            self.b.fact(fact);
        }
        for (fact, mentioned) in [("agent_id", "agent.id"), ("run_id", "agent.run_id")] {
            if mentions(self.document, mentioned) {
                let slot = self.b.slot(ROOT, fact, None);
                self.b.name(ROOT, &["agent", &mentioned["agent.".len()..]], slot);
                self.b.fact(fact);
                self.named.insert(fact, slot);
            }
        }
        if self.document.steps.iter().any(|step| step.is("human_in_the_loop")) {
            let slot = self.b.slot(ROOT, "account", None);
            self.b.fact("account");
            self.named.insert("account", slot);
        }
        if self.plan.has_files {
            let slot = self.b.slot(ROOT, "attachments", None);
            self.b.fact("attachments");
            self.named.insert("attachments", slot);
        }
        if self.document.steps.iter().any(|step| step.kind.shows()) {
            let slot = self.b.slot(ROOT, "shown", None);
            self.named.insert("shown", slot);
        }
    }

    fn start(&mut self, next: PlaceId) -> PlaceId {
        let (input, facts) = (self.b.input(), self.b.facts());
        let value = self.b.read(input);
        let names = [("f", facts), ("v", self.l.value)];
        let kind = self.inner(r#"f.content_type ?? (type(v) == "string" ? "text/plain" : "application/json")"#, &names);
        let mut writes = vec![Write::Put(self.l.value, value), Write::Put(self.l.kind, kind)];
        for (fact, slot) in self.named.clone() {
            if fact != "shown" {
                let given = self.inner(&format!("f.{fact}"), &names);
                writes.push(Write::Put(slot, given));
            }
        }
        if self.plan.has_files {
            let files = self.inner("f.attachments.input", &names);
            writes.push(Write::Put(self.l.files, files));
        }
        self.b.set(writes, next, None)
    }

    /// Fills in the defaults of declared inputs and checks all of them; a run with wrong inputs ends before its first step.
    fn checked_inputs(&mut self, begin: PlaceId) -> PlaceId {
        let Some(declared) = &self.document.inputs else { return begin };
        declared.add_views(&mut self.b);
        let problems = self.b.slot(ROOT, "problems", None);
        let (probe, input) = (self.l.probe, self.b.input());
        let metadata = self.named["metadata"];
        let names = [("v", self.l.value), ("k", self.l.kind), ("m", metadata), ("p", probe), ("problems", problems)];
        let rejected = self.inner(
            r#"{"status": "rejected", "output": nil, "output_content_type": nil,
                "error": {"kind": problems[0].kind, "message": join(map(problems, #.message), "; "), "step": nil}}"#,
            &names,
        );
        let rejected = self.b.close(Status::Failed, rejected);
        let kind = self.inner(
            r#"p.input == nil || v == p.input ? k : type(p.input) == "string" ? "text/plain" : "application/json""#,
            &names,
        );
        let value = self.inner("p.input ?? v", &names);
        let given = self.inner("p.metadata ?? {}", &names);
        let writes = [(self.l.kind, kind), (self.l.value, value), (input, value), (metadata, given)];
        let taken = self.b.set(writes.map(|(slot, value)| Write::Put(slot, value)), begin, None);
        let wrong = self.when("len(problems) > 0", &names);
        let decide = self.b.decide([(wrong, rejected)], taken, None);
        let constants = [("declared", declared.list.clone())];
        // A run without an input starts with empty text, one without metadata with none.
        let given = r#"withDefaults({"input": v == "" ? nil : v, "metadata": len(m ?? {}) == 0 ? nil : m}, declared)"#;
        let values = self.inner_with(given, &names, &constants);
        let found = self.inner_with("inputProblems(p, declared)", &names, &constants);
        self.b.set([Write::Put(probe, values), Write::Put(problems, found)], decide, None)
    }

    /// The document may say what the input is; if that is nothing known, the run fails.
    fn typed_input(&mut self, begin: PlaceId, failed: PlaceId) -> PlaceId {
        let Some(template) = self.document.located.get("input_content_type").filter(|value| !value.is_null()) else {
            return begin;
        };
        let resolved = self.template(ROOT, template);
        let kind = self.b.read(self.l.probe);
        let typed = self.b.set([Write::Put(self.l.kind, kind)], begin, None);
        let bad = self.fault(
            "input_content_type",
            "`input_content_type` gives no content type that a run can begin with",
            Failure { to: failed, error: None },
        );
        let known: Vec<String> = INPUT_TYPES.iter().map(|known| format!("p == {known:?}")).collect();
        let known = self.when(&known.join(" || "), &[("p", self.l.probe)]);
        let decide = self.b.decide([(known, typed)], bad, None);
        self.b.set([Write::Put(self.l.probe, resolved)], decide, None)
    }

    /// The output is what was shown last, else the tail of the root chain.
    fn completed_result(&mut self) -> ExprId {
        let (value, kind) = ("value", "kind");
        let mut names = vec![(value, self.l.value), (kind, self.l.kind)];
        let Some(shown) = self.named.get("shown").copied() else {
            let text = r#"{"status": "completed", "output": value, "output_content_type": kind, "error": nil}"#;
            return self.inner(text, &names);
        };
        names.push(("shown", shown));
        self.inner(
            r#"{"status": "completed", "output": shown == nil ? value : shown.v,
                "output_content_type": shown == nil ? kind : shown.k, "html_format": shown.html, "error": nil}"#,
            &names,
        )
    }

    pub(super) fn failed_result(&mut self) -> ExprId {
        let text = r#"{"status": "failed", "output": nil, "output_content_type": nil,
                       "error": {"kind": e.kind, "message": e.message, "step": e.step}}"#;
        self.inner(text, &[("e", self.l.failed)])
    }

    pub(super) fn shown_slot(&self) -> SlotId {
        self.named["shown"]
    }

    pub(super) fn account_slot(&self) -> SlotId {
        self.named["account"]
    }
}
