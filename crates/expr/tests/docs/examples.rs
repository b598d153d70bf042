//! One example: a condition or template in one of its spellings, compiled and evaluated over the page's context.

use branchpoint_expr::{
    Cases, Condition, Diagnostic, Dialect, EvalError, Expression, Gate, Options, Problems, Value, render_terminal,
};

use crate::located;

/// The words after the fence of a block: `expr machine condition`, `json flow group => true`, `json steps gate`.
pub(crate) struct Example {
    dialect: Dialect,
    spelling: Spelling,
    /// Whether the explanation is shown instead of what is found.
    explained: bool,
    /// What the whole block gives.
    pub(crate) gives: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Spelling {
    /// An expression that must be true or false.
    Condition,
    /// An expression that gives any value.
    Value,
    /// A text with placeholders; one that is nothing else keeps its type.
    Template,
    /// A text with placeholders that is always text.
    Text,
    Group,
    /// The condition of a step: `conditions` with `match`, or `if`.
    Step,
    Gate,
    Switch,
    /// `conditions` and `sequence` of a session's step.
    History,
    /// One condition of a graph's `if` node.
    Match,
}

/// What came of an example.
pub(crate) struct Found {
    /// Everything found when compiling, then what failed when evaluating.
    pub(crate) findings: Vec<Diagnostic>,
    /// None when it does not compile.
    pub(crate) result: Option<Result<Value, EvalError>>,
    pub(crate) printed: String,
}

enum Compiled {
    Condition(Condition),
    Gate(Gate),
    Cases(Cases),
    Expression(Expression),
}

impl Example {
    /// An expression that gives any value, by the rules of `machine`.
    pub(crate) fn value() -> Self {
        Self { dialect: Dialect::Machine, spelling: Spelling::Value, explained: false, gives: None }
    }

    /// Reads the words after a fence. None: this block is no example.
    pub(crate) fn parse(words: &str) -> Result<Option<Self>, String> {
        let (head, gives) = match words.split_once(" => ") {
            Some((head, gives)) => (head, Some(gives.to_owned())),
            None => (words, None),
        };
        let words: Vec<_> = head.split_whitespace().collect();
        let (dialect, spelling, explained) = match words[..] {
            ["expr" | "json", dialect, spelling] => (dialect, spelling, false),
            ["expr" | "json", dialect, spelling, "explained"] => (dialect, spelling, true),
            ["expr", ..] => return Err(format!("`{head}` is not how an example begins")),
            _ => return Ok(None),
        };
        let known = Dialect::ALL.into_iter().find(|known| known.as_str() == dialect);
        let dialect = known.ok_or_else(|| format!("there is no dialect `{dialect}`"))?;
        let spelling = match spelling {
            "condition" => Spelling::Condition,
            "value" => Spelling::Value,
            "template" => Spelling::Template,
            "text" => Spelling::Text,
            "group" => Spelling::Group,
            "step" => Spelling::Step,
            "gate" => Spelling::Gate,
            "switch" => Spelling::Switch,
            "history" => Spelling::History,
            "match" => Spelling::Match,
            other => return Err(format!("there is no spelling `{other}`")),
        };
        Ok(Some(Self { dialect, spelling, explained, gives }))
    }

    pub(crate) fn run(&self, written: &str, context: &Value) -> Found {
        let source = &unfolded(written);
        let (mut findings, compiled) = match self.compile(source) {
            Ok(compiled) => (compiled.warnings().to_vec(), Some(compiled)),
            Err(problems) => (problems.0, None),
        };
        let result = compiled.as_ref().map(|compiled| compiled.evaluate(context));
        if let Some(Err(error)) = &result {
            findings.push(error.to_diagnostic());
        }
        let printed = match &compiled {
            Some(Compiled::Condition(condition)) if self.explained => {
                let explanation = condition.explain(context);
                format!("{}\n{}", explanation.sentence, explanation.tree.render())
            }
            _ => render_terminal(&findings, source, self.origin(), false),
        };
        Found { findings, result, printed: printed.trim_end().to_owned() }
    }

    fn origin(&self) -> &'static str {
        match self.spelling {
            Spelling::Condition | Spelling::Value => "expression",
            Spelling::Template | Spelling::Text => "template",
            _ => "condition.json",
        }
    }

    fn compile(&self, source: &str) -> Result<Compiled, Problems> {
        let options = Options::dialect(self.dialect);
        match self.spelling {
            Spelling::Condition => Condition::expression(source, options).map(Compiled::Condition),
            Spelling::Value => Expression::compile(source, options).map(Compiled::Expression),
            Spelling::Template => Expression::template(source, options).map(Compiled::Expression),
            Spelling::Text => Expression::text(source, options).map(Compiled::Expression),
            _ => self.compile_json(source, options),
        }
    }

    fn compile_json(&self, source: &str, options: Options<'_>) -> Result<Compiled, Problems> {
        let located = &located::read(source).unwrap_or_else(|error| panic!("{error} in\n{source}"));
        match self.spelling {
            Spelling::Group => Condition::group(located, options).map(Compiled::Condition),
            Spelling::Step => Condition::targets(located, options).map(Compiled::Condition),
            Spelling::Gate => Gate::compile(located, options).map(Compiled::Gate),
            Spelling::Switch => Cases::compile(located, options).map(Compiled::Cases),
            Spelling::Match => Condition::text_match(located, options).map(Compiled::Condition),
            _ => {
                let conditions = located.get("conditions").unwrap_or(located);
                Condition::history(conditions, located.get("sequence"), options).map(Compiled::Condition)
            }
        }
    }
}

impl Compiled {
    fn warnings(&self) -> &[Diagnostic] {
        match self {
            Self::Condition(condition) => condition.warnings(),
            Self::Gate(gate) => gate.condition().warnings(),
            Self::Cases(cases) => cases.warnings(),
            Self::Expression(expression) => expression.warnings(),
        }
    }

    fn evaluate(&self, context: &Value) -> Result<Value, EvalError> {
        match self {
            Self::Condition(condition) => condition.evaluate(context).map(Value::from),
            Self::Gate(gate) => gate.passes(context).map(Value::from),
            Self::Cases(cases) => Ok(cases.choose(context)?.map_or(Value::Null, |(_, name)| Value::from(name))),
            Self::Expression(expression) => expression.value(context),
        }
    }
}

/// Writes out what a page shortens: `⟨(⟩×200` is two hundred opening parentheses.
fn unfolded(written: &str) -> String {
    let mut source = String::new();
    let mut rest = written;
    while let Some((before, folded)) = rest.split_once('⟨') {
        let (part, after) = folded.split_once("⟩×").expect("`⟨` is followed by `⟩×` and a number");
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        source.push_str(before);
        source.push_str(&part.repeat(after[..end].parse().expect("`⟩×` is followed by a number")));
        rest = &after[end..];
    }
    source + rest
}
