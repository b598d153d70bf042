//! The beginning of a run: defaults, checks of the declared inputs, and facts of the environment.

use branchpoint_core::RunKinds as _;
use branchpoint_core::effect::FilesOperation;
use branchpoint_core::ir::builder::ROOT;
use branchpoint_core::ir::{PlaceId, SlotId, Status, Write};
use branchpoint_expr::{Object, Value};

use super::Lower;
use crate::machine::raw::{Input, InputType, Text};

/// The texts of booleans.
const BOOLEANS: &str = r#"["true", "yes", "1", "false", "no", "0"]"#;

/// Formulas that test for texts of numbers.
const WHOLE: &str = r#"(TYPE == "string" && TEXT matches "^[+-]?[0-9]+$")"#;
const DECIMAL: &str = r#"(TYPE == "string" && TEXT matches "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$")"#;

impl Lower<'_> {
    /// Fills in defaults and checks the inputs; a run with wrong inputs ends before its first state.
    pub(super) fn start(&mut self, first: PlaceId) -> PlaceId {
        let document = self.own.document;
        let kind = branchpoint_expr::Kind::InvalidInput.as_str();
        let rejected = format!(
            r#"{{"status": "rejected", "kind": "{kind}", "message": join(request, "; "), "errors": request,
                "exit_code": 1, "states": {{}}}}"#
        );
        let rejected = self.close_with(Status::Failed, &rejected);
        let files = document.inputs.iter().filter(|input| input.file_exists);
        let files = files.map(|input| (input, self.b.slot(ROOT, &format!("file of {}", input.name.text()), None)));
        let files: Vec<(&Input, SlotId)> = files.collect();
        let wrong = self.test("len(request) > 0");
        let checked = self.b.decide([(wrong, rejected)], first, None);
        let errors = self.errors(&files);
        let mut place = self.b.set(errors, checked, None);
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
        self.own.document.inputs.iter().map(name).collect()
    }

    fn first_writes(&mut self) -> Vec<Write> {
        let inputs = &self.own.document.inputs;
        let default = |input: &Input| Some((input.name.text().clone(), input.default.clone()?));
        let defaults: Object = inputs.iter().filter_map(default).collect();
        let has_defaults = !defaults.is_empty();
        let defaults = self.b.value(Value::from(defaults));
        if has_defaults {
            // Hosts read the defaults here, because some may be secret by name.
            self.b.view("defaults", defaults);
        }
        let declared: Vec<Value> = inputs.iter().map(Input::declaration).collect();
        if !declared.is_empty() {
            let declared = self.b.value(Value::from(declared));
            self.b.view("inputs", declared);
        }
        let mut writes = vec![
            Write::Put(self.slots["inputs"], defaults),
            self.store("inputs", "fromPairs(concat(toPairs(inputs), toPairs(given ?? {})))"),
            self.store("environment", r#"fromPairs(filter(toPairs(inputs), {type(#[1]) == "string"}))"#),
        ];
        if self.own.uses.workflow {
            self.b.fact("run_id");
            writes.push(self.store("started", "instantMs(now)"));
        }
        if self.own.uses.context {
            for fact in ["working_dir", "user", "hostname"] {
                self.b.fact(fact);
            }
            let text = r#"{"WorkingDir": facts.working_dir, "User": facts.user, "Hostname": facts.hostname}"#;
            writes.push(self.store("context", text));
        }
        if self.own.uses.folders {
            writes.push(self.folders());
        }
        if !self.own.uses.env.is_empty() {
            let names = self.own.uses.env.iter().map(|name| (name, format!("env.{name}")));
            let names = names.inspect(|(_, fact)| self.b.fact(fact));
            let names: Vec<_> =
                names.map(|(name, fact)| Value::from(vec![Value::Str(name.clone()), fact.into()])).collect();
            let text = "fromPairs(filter(map(NAMES, {[#[0], facts[#[1]]]}), {#[1] != nil}))";
            writes.push(self.store_with("env", text, &[], &[("NAMES", Value::from(names))]));
        }
        writes
    }

    fn look_for_file(&mut self, input: &Input, slot: SlotId, next: PlaceId) -> PlaceId {
        let path = self.formula_with(r#"{"path": string(inputs[NAME])}"#, &[], &[name(input)]);
        let missing = self.b.value(false);
        let missing = self.b.set([Write::Put(slot, missing)], next, None);
        let looked = self.read(FilesOperation::Exists, path, slot, next, missing);
        let absent = self.test_with(ABSENT, &[], &[name(input)]);
        self.b.decide([(absent, next)], looked, None)
    }

    /// Collects the problems of the inputs as a list of texts in the slot `request`.
    fn errors(&mut self, files: &[(&Input, SlotId)]) -> Vec<Write> {
        let none = self.b.value(Value::from(Vec::new()));
        let mut writes = vec![Write::Put(self.slots["request"], none)];
        for input in &self.own.document.inputs {
            let rule = |(wrong, message): &(String, &str)| format!("({wrong}) ? {message} : nil");
            let rules = rules(input).iter().map(rule).collect::<Vec<_>>().join(", ");
            let errors =
                format!(r#"concat(request, map(filter([{rules}], {{# != nil}}), {{"input `" + NAME + "` " + #}}))"#);
            if !rules.is_empty() {
                writes.push(self.store_with("request", &errors, &[], &constants(input)));
            }
        }
        for (input, slot) in files {
            let missing = r#"found == false ? concat(request, ["input `" + NAME + "` names no file"]) : request"#;
            writes.push(self.store_with("request", missing, &[("found", *slot)], &[name(input)]));
        }
        writes
    }
}

/// The name of an input as the constant `NAME` of formulas.
fn name(input: &Input) -> (&'static str, Value) {
    ("NAME", Value::Str(input.name.text().clone()))
}

/// The constants of an input's rules: its name and bounds. A bound is a number and its text.
fn constants(input: &Input) -> [(&'static str, Value); 7] {
    let texts = |texts: &Option<Vec<Text>>| -> Vec<Value> {
        texts.iter().flatten().map(|text| Value::Str(text.text().clone())).collect()
    };
    let allowed = texts(&input.one_of);
    let listed = allowed.iter().map(|allowed| format!("{allowed:?}")).collect::<Vec<_>>().join(", ");
    let bound = |bound: Option<f64>| {
        bound.map_or(Value::Null, |bound| Value::from(vec![Value::Float(bound), Value::from(bound.to_string())]))
    };
    let dotted = |extension: Value| Value::from(format!(".{}", extension.to_string().trim_start_matches('.')));
    [
        name(input),
        ("PATTERN", input.pattern.as_ref().map_or(Value::Null, |pattern| Value::Str(pattern.text().clone()))),
        ("ALLOWED", Value::from(allowed)),
        ("LISTED", Value::from(listed)),
        ("MIN", bound(input.min)),
        ("MAX", bound(input.max)),
        ("EXTENSIONS", texts(&input.file_extension).into_iter().map(dotted).collect::<Vec<_>>().into()),
    ]
}

/// Whether an input is absent: missing, null or empty text.
const ABSENT: &str = r#"inputs[NAME] == nil || inputs[NAME] == """#;

/// The rules of an input as formulas: the test for a violation and its message.
fn rules(input: &Input) -> Vec<(String, &'static str)> {
    let mut rules = Vec::new();
    let mut forbid = |wrong: &str, message: &'static str| {
        let wrong = wrong.replace("TEXT", "string(inputs[NAME])").replace("TYPE", "type(inputs[NAME])");
        rules.push((format!("!({ABSENT}) && ({wrong})"), message));
    };
    match input.of {
        None => {}
        Some(InputType::String) => forbid(r#"TYPE != "string""#, r#""must be text""#),
        Some(InputType::Integer) => forbid(&format!(r#"TYPE != "int" && !{WHOLE}"#), r#""must be a whole number""#),
        Some(InputType::Number) => {
            forbid(&format!(r#"TYPE != "int" && TYPE != "float" && !{DECIMAL}"#), r#""must be a number""#);
        }
        Some(InputType::Boolean) => {
            forbid(&format!(r#"TYPE != "bool" && not (lower(TEXT) in {BOOLEANS})"#), r#""must be true or false""#);
        }
        Some(InputType::Array) => forbid(r#"TYPE != "array""#, r#""must be a list""#),
        Some(InputType::Object) => forbid(r#"TYPE != "map""#, r#""must be an object""#),
    }
    if input.pattern.is_some() {
        forbid("!(TEXT matches PATTERN)", r#""does not match " + toJSON(PATTERN)"#);
    }
    if input.one_of.is_some() {
        forbid("not (TEXT in ALLOWED)", r#""is not one of " + LISTED"#);
    }
    let number = format!(r#"(TYPE == "int" || TYPE == "float" || {DECIMAL})"#);
    if input.min.is_some() {
        forbid(&format!("{number} && float(inputs[NAME]) < MIN[0]"), r#""is less than " + MIN[1]"#);
    }
    if input.max.is_some() {
        forbid(&format!("{number} && float(inputs[NAME]) > MAX[0]"), r#""is more than " + MAX[1]"#);
    }
    if input.file_extension.is_some() {
        forbid("none(EXTENSIONS, {TEXT endsWith #})", r#""has another file extension""#);
    }
    if input.required {
        rules.insert(0, (ABSENT.to_owned(), r#""is required""#));
    }
    rules
}
