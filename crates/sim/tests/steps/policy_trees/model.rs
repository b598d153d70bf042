//! What a tree with policies must do, read from the specification. Shares no code with the lowering or the core.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::tree::{Action, HANDLED, Kind, OnError, Policy, Stage, Step, Test, Tree, approves, score};

/// Everything that a run does and that policies have an influence on.
#[derive(Debug, PartialEq)]
pub(super) struct Conduct {
    /// The branches that the policies took, in order, by step and the positions in the loops around.
    pub(super) decisions: BTreeMap<(String, Vec<u32>), Vec<String>>,
    /// The bodies of the requests, by step; sorted, because branches run side by side.
    pub(super) bodies: Vec<(String, String)>,
    /// The values that people were asked about, by step; sorted.
    pub(super) asked: Vec<(String, String)>,
    /// Step, policy and stage of each flag; sorted.
    pub(super) flags: Vec<(String, String, String)>,
    /// The output, or the kind of the error with its step and policy.
    pub(super) end: Result<String, (String, String)>,
}

/// Stands for the input of steps that handle an error, whose message the model does not know completely.
pub(super) const AN_ERROR: &str = "an error";

/// The kind of an error and the beginning of its message.
type Failed = (String, String);

pub(super) fn conduct(tree: &Tree) -> Conduct {
    let mut model = Model::default();
    let around: Vec<&Policy> = tree.policies.iter().collect();
    let end = model.list(&tree.steps, json!(tree.input), &around, &[]);
    let mut conduct = Conduct { end: end.map(|output| text(&output)), ..model.conduct };
    conduct.bodies.sort();
    conduct.asked.sort();
    conduct.flags.sort();
    conduct
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            decisions: BTreeMap::new(),
            bodies: Vec::new(),
            asked: Vec::new(),
            flags: Vec::new(),
            end: Ok(String::new()),
        }
    }
}

#[derive(Default)]
struct Model {
    conduct: Conduct,
}

impl Model {
    fn list(&mut self, steps: &[Step], input: Value, around: &[&Policy], path: &[u32]) -> Result<Value, Failed> {
        steps.iter().try_fold(input, |value, step| self.step(step, value, around, path))
    }

    fn step(&mut self, step: &Step, input: Value, around: &[&Policy], path: &[u32]) -> Result<Value, Failed> {
        let covering: Vec<&Policy> = around.iter().copied().chain(&step.policies).collect();
        let deeper = |index: usize| [path, &[u32::try_from(index).expect("loops are short")]].concat();
        match &step.kind {
            Kind::Call(_) | Kind::Text => self.leaf(step, input, &covering, around, path),
            Kind::If { takes_then, then_steps, else_steps } => {
                self.list(if *takes_then { then_steps } else { else_steps }, input, &covering, path)
            }
            Kind::Each { items, fail_fast, body, .. } => {
                let mut outputs = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    match self.list(body, json!(item), &covering, &deeper(index)) {
                        Err(error) if *fail_fast => return Err(error),
                        output => outputs.push(output.unwrap_or_default()),
                    }
                }
                Ok(json!(outputs))
            }
            Kind::While { rounds, body } => (0..*rounds).try_fold(input, |value, round| {
                self.list(body, value, &covering, &deeper(usize::try_from(round).expect("loops are short")))
            }),
            Kind::Parallel(branches) => {
                let mut outputs = serde_json::Map::new();
                for (at, branch) in branches.iter().enumerate() {
                    let output = self.list(branch, input.clone(), &covering, path).unwrap_or_default();
                    outputs.insert(format!("x{at}"), output);
                }
                Ok(Value::Object(outputs))
            }
        }
    }

    /// A step that makes a value. The steps of its `on_error` have the policies around, not its own.
    fn leaf(
        &mut self,
        step: &Step,
        input: Value,
        covering: &[&Policy],
        around: &[&Policy],
        path: &[u32],
    ) -> Result<Value, Failed> {
        let error = match self.attempt(step, input, covering, path) {
            Ok(output) => return Ok(output),
            Err(error) => error,
        };
        let handled = match &step.on_error {
            OnError::Fail => return Err(error),
            OnError::Continue => json!(""),
            OnError::Steps(id) => {
                self.govern(id, Stage::Input, json!({"message": error.1}), around, path)?;
                self.govern(id, Stage::Output, json!(HANDLED), around, path)?
            }
        };
        self.govern(&step.id, Stage::Output, handled, covering, path)
    }

    fn attempt(&mut self, step: &Step, input: Value, covering: &[&Policy], path: &[u32]) -> Result<Value, Failed> {
        let input = self.govern(&step.id, Stage::Input, input, covering, path)?;
        let output = match &step.kind {
            Kind::Call(response) => {
                self.conduct.bodies.push((step.id.clone(), text(&input)));
                json!(response)
            }
            _ => json!(format!("t {}", text(&input))),
        };
        self.govern(&step.id, Stage::Output, output, covering, path)
    }

    /// The policies of one stage over a value, in order.
    fn govern(
        &mut self,
        step: &str,
        stage: Stage,
        value: Value,
        covering: &[&Policy],
        path: &[u32],
    ) -> Result<Value, Failed> {
        let of_stage = covering.iter().filter(|policy| policy.stage == stage);
        of_stage.into_iter().try_fold(value, |value, policy| self.policy(step, value, policy, path))
    }

    fn policy(&mut self, step: &str, value: Value, policy: &Policy, path: &[u32]) -> Result<Value, Failed> {
        let failed = |kind: &str| (kind.to_owned(), format!("the policy `{}` of the step `{step}`: ", policy.name));
        let applies = match policy.test {
            Test::None => Some(true),
            Test::Contains(letter) => Some(text(&value).contains(letter)),
            Test::Unevaluable => None,
            Test::Judge => Some(score(step, &policy.name).ok_or_else(|| failed("policy_error"))? >= 0.5),
        };
        let word = match policy.action {
            Action::Block => "block",
            Action::Flag => "flag",
            Action::Ask => "ask",
            Action::Mask(_) => "mask",
        };
        let decision = match applies {
            Some(applies) => format!("{}: {}", policy.name, if applies { word } else { "pass" }),
            None => "error".to_owned(),
        };
        self.conduct.decisions.entry((step.to_owned(), path.to_vec())).or_default().push(decision);
        match (applies, policy.action) {
            (None, _) => Err(failed("policy_error")),
            (Some(false), _) => Ok(value),
            (_, Action::Block) => Err(failed("policy_blocked")),
            (_, Action::Mask(letter)) => Ok(masked(&value, letter)),
            (_, Action::Flag) => {
                let on = if policy.stage == Stage::Input { "input" } else { "output" };
                self.conduct.flags.push((step.to_owned(), policy.name.clone(), on.to_owned()));
                Ok(value)
            }
            (_, Action::Ask) => {
                let is_error = value.get("message").is_some();
                let shown = if is_error { AN_ERROR.to_owned() } else { text(&value) };
                self.conduct.asked.push((step.to_owned(), shown));
                if approves(step) { Ok(value) } else { Err(failed("policy_blocked")) }
            }
        }
    }
}

/// Text as it is, everything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn masked(value: &Value, letter: char) -> Value {
    let masked = text(value).replace(letter, "***");
    match value {
        Value::String(_) => json!(masked),
        _ => serde_json::from_str(&masked).unwrap_or_else(|_| json!(masked)),
    }
}
