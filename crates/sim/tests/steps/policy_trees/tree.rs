//! Random step trees with random policies, and the document of each.

use branchpoint_sim::rng::Rng;
use serde_json::{Value, json};

/// The letters of values. No message of an error contains them.
const LETTERS: &[char] = &['W', 'X', 'Y', 'Z'];

/// The output of steps that handle an error.
pub(super) const HANDLED: &str = "handled WX";

/// The stage of a step run at which a policy is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Input,
    Output,
}

/// The condition of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// No condition. Only a mask may have none.
    None,
    /// The text form of the value contains this letter.
    Contains(char),
    /// A comparison of text with a number, which cannot be evaluated.
    Unevaluable,
    /// A model rates the value; [`score`] is its reply.
    Judge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Block,
    Flag,
    Ask,
    Mask(char),
}

#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) stage: Stage,
    pub(super) test: Test,
    pub(super) action: Action,
}

#[derive(Clone, Debug)]
pub(super) enum OnError {
    Fail,
    Continue,
    /// A `text` step with this id.
    Steps(String),
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// An HTTP request with the input as its body, and its response.
    Call(String),
    /// A text that contains the input.
    Text,
    If {
        takes_then: bool,
        then_steps: Vec<Step>,
        else_steps: Vec<Step>,
    },
    Each {
        items: Vec<String>,
        is_parallel: bool,
        fail_fast: bool,
        body: Vec<Step>,
    },
    While {
        rounds: u32,
        body: Vec<Step>,
    },
    /// Branches that do not end when another one fails.
    Parallel(Vec<Vec<Step>>),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) policies: Vec<Policy>,
    pub(super) on_error: OnError,
}

#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) input: String,
    pub(super) policies: Vec<Policy>,
    pub(super) steps: Vec<Step>,
}

/// The rating of a judged policy for a step; none if the call of the model fails.
pub(super) fn score(step: &str, policy: &str) -> Option<f64> {
    match hash(&format!("{step}.{policy}")) % 4 {
        0 => None,
        1 => Some(0.5),
        _ => Some(0.1),
    }
}

/// Whether people approve the value of a step.
pub(super) fn approves(step: &str) -> bool {
    !hash(step).is_multiple_of(3)
}

fn hash(text: &str) -> u64 {
    let seed = text.bytes().fold(17, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    Rng::new(seed).draw()
}

/// Generates trees.
struct Generator {
    rng: Rng,
    steps: u32,
    policies: u32,
    /// Whether policies may ask people. Then there are no loops over items, in which that is rejected.
    asks: bool,
}

impl Tree {
    pub(super) fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let asks = rng.percent(35);
        let mut generator = Generator { rng, steps: 0, policies: 0, asks };
        let policies = generator.some_policies(2);
        let steps = generator.list(0);
        Self { input: generator.word(), policies, steps }
    }

    /// The document as JSON, which is YAML.
    pub(super) fn document(&self) -> String {
        json!({"policies": policies(&self.policies), "steps": list(&self.steps)}).to_string()
    }
}

impl Generator {
    fn list(&mut self, depth: u32) -> Vec<Step> {
        (0..=self.rng.small(3)).map(|_| self.step(depth)).collect()
    }

    fn step(&mut self, depth: u32) -> Step {
        self.steps += 1;
        let id = format!("s{}", self.steps);
        let kind = match self.rng.small(if depth < 3 { 8 } else { 4 }) {
            0..=2 => Kind::Call(self.word()),
            3 => Kind::Text,
            4 => Kind::If {
                takes_then: self.rng.percent(50),
                then_steps: self.list(depth + 1),
                else_steps: self.list(depth + 1),
            },
            5 if !self.asks => {
                let items = (0..self.rng.small(4)).map(|_| self.word()).collect();
                let fail_fast = self.rng.percent(50);
                let is_parallel = !fail_fast && self.rng.percent(50);
                Kind::Each { items, is_parallel, fail_fast, body: self.list(depth + 1) }
            }
            5 | 6 => Kind::While { rounds: self.rng.small(3), body: self.list(depth + 1) },
            _ => Kind::Parallel((0..=self.rng.small(3)).map(|_| self.list(depth + 1)).collect()),
        };
        let policies = if self.rng.percent(30) { self.some_policies(2) } else { Vec::new() };
        // A text step cannot have `on_error`, and the other steps with steps inside have rules of their own.
        let on_error = match (&kind, self.rng.small(4)) {
            (Kind::Call(_), 0) => OnError::Continue,
            (Kind::Call(_), 1) => {
                self.steps += 1;
                OnError::Steps(format!("s{}", self.steps))
            }
            _ => OnError::Fail,
        };
        Step { id, kind, policies, on_error }
    }

    fn some_policies(&mut self, most: u32) -> Vec<Policy> {
        (0..self.rng.small(most + 1)).map(|_| self.policy()).collect()
    }

    fn policy(&mut self) -> Policy {
        self.policies += 1;
        let letter = *self.rng.pick(LETTERS);
        let action = match self.rng.small(8) {
            0 => Action::Block,
            1 if self.asks => Action::Ask,
            1..=4 => Action::Flag,
            _ => Action::Mask(letter),
        };
        let test = match self.rng.small(20) {
            0 => Test::Unevaluable,
            1..=3 => Test::Judge,
            4..=9 if matches!(action, Action::Mask(_)) => Test::None,
            _ => Test::Contains(*self.rng.pick(LETTERS)),
        };
        let stage = if self.rng.percent(50) { Stage::Input } else { Stage::Output };
        Policy { name: format!("p{}", self.policies), stage, test, action }
    }

    fn word(&mut self) -> String {
        (0..=self.rng.small(4)).map(|_| *self.rng.pick(LETTERS)).collect()
    }
}

fn policies(policies: &[Policy]) -> Vec<Value> {
    policies.iter().map(policy).collect()
}

fn policy(policy: &Policy) -> Value {
    let (then, mask) = match policy.action {
        Action::Block => ("block", None),
        Action::Flag => ("flag", None),
        Action::Ask => ("ask", None),
        Action::Mask(letter) => ("mask", Some(letter)),
    };
    let on = if policy.stage == Stage::Input { "input" } else { "output" };
    let mut fields = json!({"name": policy.name, "on": on, "then": then});
    match policy.test {
        Test::None => {}
        Test::Contains(letter) => fields["if"] = json!(format!("string(input) contains \"{letter}\"")),
        Test::Unevaluable => fields["if"] = json!("input > 5"),
        Test::Judge => fields["judge"] = json!("rude"),
    }
    if let Some(letter) = mask {
        fields["mask"] = json!(letter);
    }
    fields
}

fn list(steps: &[Step]) -> Vec<Value> {
    steps.iter().map(step).collect()
}

fn step(step: &Step) -> Value {
    let mut fields = match &step.kind {
        Kind::Call(_) => {
            json!({"step_type": "http", "method": "POST", "url": "https://example.org", "body": "{{input}}"})
        }
        Kind::Text => json!({"step_type": "text", "template": "t {{input}}"}),
        Kind::If { takes_then, then_steps, else_steps } => json!({
            "step_type": "if_else", "if": takes_then.to_string(),
            "then_steps": list(then_steps), "else_steps": list(else_steps),
        }),
        Kind::Each { items, is_parallel, fail_fast, body } => json!({
            "step_type": "for_each", "input_template": json!(items).to_string(),
            "parallel": is_parallel, "fail_fast": fail_fast, "body": list(body),
        }),
        Kind::While { rounds, body } => json!({
            "step_type": "while", "if": format!("step.{}.iteration < {rounds}", step.id), "body": list(body),
        }),
        Kind::Parallel(branches) => {
            let branch = |(at, steps): (usize, &Vec<Step>)| json!({"name": format!("x{at}"), "steps": list(steps)});
            let branches: Vec<Value> = branches.iter().enumerate().map(branch).collect();
            json!({"step_type": "parallel", "fail_fast": false, "branches": branches})
        }
    };
    fields["id"] = json!(step.id);
    if !step.policies.is_empty() {
        fields["policies"] = json!(policies(&step.policies));
    }
    match &step.on_error {
        OnError::Fail => {}
        OnError::Continue => fields["on_error"] = json!("continue"),
        OnError::Steps(id) => {
            fields["on_error"] = json!([{"id": id, "step_type": "text", "template": HANDLED}]);
        }
    }
    fields
}
