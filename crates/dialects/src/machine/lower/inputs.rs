//! The beginning of a run: defaults, checks of the declared inputs, and what the run is told of its surroundings.

use std::fmt::Write as _;

use branchpoint_core::effect::FilesOperation;
use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{PlaceId, SlotId, Status, Write};
use branchpoint_expr::{Object, Value};

use super::Lower;
use super::slots::quoted;
use crate::machine::raw::{Input, InputType};

/// The texts that stand for a boolean.
const BOOLEANS: &str = r#"["true", "yes", "1", "false", "no", "0"]"#;

impl Lower<'_> {
    /// Fills in defaults, checks everything, and goes on; a run with wrong inputs ends before anything happens.
    pub(super) fn start(&mut self, first: PlaceId) -> PlaceId {
        let document = self.document;
        let kind = branchpoint_expr::Kind::InvalidInput.as_str();
        let rejected = format!(
            r#"{{"status": "rejected", "kind": "{kind}", "message": join(request, "; "), "errors": request,
                "exit_code": 1, "states": {{}}}}"#
        );
        let rejected = self.formula(&rejected, &[]);
        let rejected = self.b.close(Status::Failed, rejected);
        let files: Vec<(&Input, SlotId)> = document
            .inputs
            .iter()
            .filter(|input| input.file_exists)
            .map(|input| (input, self.b.slot(ROOT, &format!("file of {}", input.name.text()), None)))
            .collect();
        let wrong = self.test("len(request) > 0", &[]);
        let checked = self.b.decide([(wrong, rejected)], first, None);
        let errors = self.errors(&files);
        let mut place = self.b.set([errors], checked, None);
        for (input, slot) in files.into_iter().rev() {
            place = self.look_for_file(input, slot, place);
        }
        let writes = self.first_writes();
        self.b.set(writes, place, None)
    }

    /// The declared inputs by name alone, as `[{name, path}]`: their values are checked by the rules of this dialect.
    pub(super) fn input_names(&self) -> Vec<Value> {
        let name = |input: &Input| {
            let name = Value::Str(input.name.text().clone());
            let fields = [("name".into(), name.clone()), ("path".into(), Value::from(vec![name]))];
            Value::from(fields.into_iter().collect::<Object>())
        };
        self.document.inputs.iter().map(name).collect()
    }

    fn first_writes(&mut self) -> Vec<Write> {
        let defaults: Object = self
            .document
            .inputs
            .iter()
            .filter_map(|input| Some((input.name.text().clone(), input.default.clone()?)))
            .collect();
        let has_defaults = !defaults.is_empty();
        let defaults = self.b.value(Value::from(defaults));
        if has_defaults {
            // Whoever starts a run asks for them, because some may be secret by their names.
            self.b.view("defaults", defaults);
        }
        let declared: Vec<Value> = self.document.inputs.iter().map(Input::declaration).collect();
        if !declared.is_empty() {
            let declared = self.b.value(Value::from(declared));
            self.b.view("inputs", declared);
        }
        let mut writes = vec![
            Write::Put(self.slots.inputs, defaults),
            self.put(self.slots.inputs, "fromPairs(concat(toPairs(inputs), toPairs(given ?? {})))", &[]),
            self.put(self.slots.environment, r#"fromPairs(filter(toPairs(inputs), {type(#[1]) == "string"}))"#, &[]),
        ];
        if self.uses.workflow {
            self.b.fact("run_id");
            writes.push(self.put(self.slots.started, "instantMs(now)", &[]));
        }
        if self.uses.context {
            for fact in ["working_dir", "user", "hostname"] {
                self.b.fact(fact);
            }
            let text = r#"{"WorkingDir": facts.working_dir, "User": facts.user, "Hostname": facts.hostname}"#;
            writes.push(self.put(self.slots.context, text, &[]));
        }
        if !self.uses.env.is_empty() {
            let mut pairs = String::new();
            for name in &self.uses.env {
                let fact = format!("env.{name}");
                self.b.fact(&fact);
                let _ = write!(pairs, "[{}, facts[{}]], ", quoted(name), quoted(&fact));
            }
            let text = format!("fromPairs(filter([{pairs}], {{#[1] != nil}}))");
            writes.push(self.put(self.slots.env, &text, &[]));
        }
        writes
    }

    fn look_for_file(&mut self, input: &Input, slot: SlotId, next: PlaceId) -> PlaceId {
        let value = format!("inputs[{}]", quoted(input.name.text()));
        let path = self.formula(&format!(r#"{{"path": string({value})}}"#), &[]);
        let missing = self.b.value(false);
        let missing = self.b.set([Write::Put(slot, missing)], next, None);
        let looked = self.read(FilesOperation::Exists, path, slot, next, missing);
        let absent = self.test(&absent(&value), &[]);
        self.b.decide([(absent, next)], looked, None)
    }

    /// All that is wrong with the inputs, as a list of texts in the slot `request`.
    fn errors(&mut self, files: &[(&Input, SlotId)]) -> Write {
        let mut rules = Vec::new();
        for input in &self.document.inputs {
            let name = input.name.text();
            let value = format!("inputs[{}]", quoted(name));
            if input.required {
                rules.push((absent(&value), format!("input `{name}` is required")));
            }
            let given = format!("!({})", absent(&value));
            rules.extend(
                self::rules(input, &value)
                    .into_iter()
                    .map(|(wrong, message)| (format!("{given} && ({wrong})"), format!("input `{name}` {message}"))),
            );
        }
        let mut names = Vec::new();
        let slot_names: Vec<String> = (0..files.len()).map(|n| format!("found{n}")).collect();
        for ((input, slot), found) in files.iter().zip(&slot_names) {
            rules.push((format!("{found} == false"), format!("input `{}` names no file", input.name.text())));
            names.push((found.as_str(), *slot));
        }
        let told = rules.iter().map(|(wrong, message)| format!("({wrong}) ? {} : nil", quoted(message)));
        let text = format!("filter([{}], {{# != nil}})", told.collect::<Vec<_>>().join(", "));
        self.put(self.slots.request, &text, &names)
    }
}

/// Nothing was given: missing, null and empty text are the same here.
fn absent(value: &str) -> String {
    format!(r#"{value} == nil || {value} == """#)
}

/// What must not hold for a value that was given, and what to say if it does.
fn rules(input: &Input, value: &str) -> Vec<(String, String)> {
    let mut rules = Vec::new();
    let text = format!("string({value})");
    let kind = format!("type({value})");
    let whole = format!(r#"({kind} == "string" && {text} matches "^[+-]?[0-9]+$")"#);
    let decimal =
        format!(r#"({kind} == "string" && {text} matches "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$")"#);
    let typed = match input.of {
        None => None,
        Some(InputType::String) => Some((format!(r#"{kind} != "string""#), "must be text")),
        Some(InputType::Integer) => Some((format!(r#"{kind} != "int" && !{whole}"#), "must be a whole number")),
        Some(InputType::Number) => {
            Some((format!(r#"{kind} != "int" && {kind} != "float" && !{decimal}"#), "must be a number"))
        }
        Some(InputType::Boolean) => {
            Some((format!(r#"{kind} != "bool" && not (lower({text}) in {BOOLEANS})"#), "must be true or false"))
        }
        Some(InputType::Array) => Some((format!(r#"{kind} != "array""#), "must be a list")),
        Some(InputType::Object) => Some((format!(r#"{kind} != "map""#), "must be an object")),
    };
    rules.extend(typed.map(|(wrong, message)| (wrong, message.to_owned())));
    if let Some(pattern) = &input.pattern {
        let pattern = quoted(pattern.text());
        rules.push((format!("!({text} matches {pattern})"), format!("does not match {pattern}")));
    }
    if let Some(allowed) = &input.one_of {
        let allowed = allowed.iter().map(|allowed| quoted(allowed.text())).collect::<Vec<_>>().join(", ");
        rules.push((format!("not ({text} in [{allowed}])"), format!("is not one of {allowed}")));
    }
    let number = format!(r#"({kind} == "int" || {kind} == "float" || {decimal})"#);
    for (bound, operator, said) in [(input.min, "<", "is less than"), (input.max, ">", "is more than")] {
        if let Some(bound) = bound {
            rules.push((format!("{number} && float({value}) {operator} {bound:?}"), format!("{said} {bound}")));
        }
    }
    if let Some(extensions) = &input.file_extension {
        let ends = extensions.iter().map(|extension| {
            let dotted = extension.text().trim_start_matches('.');
            format!("{text} endsWith {}", quoted(&format!(".{dotted}")))
        });
        let ends = ends.collect::<Vec<_>>().join(" || ");
        rules.push((format!("!({ends})"), "has another file extension".to_owned()));
    }
    rules
}
