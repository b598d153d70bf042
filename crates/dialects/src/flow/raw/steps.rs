//! Steps, at whatever depth, and what decides between them.

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Kind, Located};

use super::calls::CALLS;
use super::fields::{COMMON, Config};
use super::{Case, Reading, Step, What, start_of};

use crate::DocumentKinds as _;

const DECLARES: [&str; 2] = ["flow_variables", "start"];
const UNSUPPORTED: [&str; 2] = ["codeInterpreter", "streamUI"];
const OTHERS: [&str; 6] = ["flow_variables", "setVariables", "conditional", "switch", "loop", "finish"];

/// A step whose settings are being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    pub(super) number: u32,
    /// Its position, by which steps inside it are named.
    pub(super) position: &'p str,
}

impl Reading {
    /// The steps of a list. What is no step is refused and stays, with nothing in it.
    pub(super) fn steps<'d>(&mut self, list: &'d Located, position: &str, parent: Option<u32>) -> Vec<Step<'d>> {
        let items = list.items().unwrap_or_default().iter().enumerate();
        items.map(|(index, step)| self.step(step, &format!("{position}[{index}]"), parent)).collect()
    }

    /// The blocks under a key of a step; absent and null are none.
    pub(super) fn blocks<'d>(&mut self, config: Config<'d>, key: &str, at: Place<'_>) -> Vec<Step<'d>> {
        let Some(list) = config.get(key) else { return Vec::new() };
        if list.items().is_none() {
            self.odd(list, &format!("`{key}` is a list of steps"), "put the steps in square brackets");
        }
        self.steps(list, &format!("{}.{key}", at.position), Some(at.number))
    }

    fn step<'d>(&mut self, step: &'d Located, position: &str, parent: Option<u32>) -> Step<'d> {
        let number = self.steps;
        self.steps += 1;
        if !step.is_object() {
            let message = format!("a step is an object, and this is {}", step.describe());
            self.error(Kind::InvalidFlow, step.span, message, "write {\"type\": …, \"config\": {…}}");
            return refused(step, number, position, parent);
        }
        let name = self.name(step, position);
        let ty = self.ty(step);
        let config = self.config(step, ty.as_deref());
        let mut read = Step { name, ..refused(step, number, position, parent) };
        if let (Some(ty), Some(config)) = (ty, config) {
            read.ty = ty;
            read.result = self.result(config);
            read.direct = self.flag(config, "directOutput", false);
            let top = parent.is_none();
            read.what =
                self.what(&read.ty, config, Place { number, position }, top, step).unwrap_or(What::Refused(Vec::new()));
        }
        read
    }

    fn name(&mut self, step: &Located, position: &str) -> Arc<str> {
        let Some(id) = step.get("id").filter(|id| !id.is_null()) else { return position.into() };
        match id.text() {
            Some(text) if !text.trim().is_empty() => {
                if !self.ids.insert(text.clone()) {
                    let message = format!("there is another step with the id `{text}`");
                    self.warn(Kind::DuplicateId, id.span, message, "give each step an id of its own");
                }
                text.clone()
            }
            Some(_) => position.into(),
            None => {
                let message = format!("the `id` of a step is text, and this is {}", id.describe());
                self.error(Kind::InvalidFlow, id.span, message, "put it in quotes, or leave it out");
                position.into()
            }
        }
    }

    fn ty(&mut self, step: &Located) -> Option<Arc<str>> {
        match step.get("type").map(|ty| (ty, ty.text())) {
            Some((_, Some(text))) => Some(text.clone()),
            Some((ty, None)) => {
                let message = format!("the `type` of a step is text, and this is {}", ty.describe());
                self.error(Kind::InvalidFlow, ty.span, message, "put it in quotes");
                None
            }
            None => {
                let message = "a step needs a `type`";
                self.error(Kind::InvalidFlow, start_of(step), message, "add \"type\", such as \"setVariables\"");
                None
            }
        }
    }

    fn config<'d>(&mut self, step: &'d Located, ty: Option<&str>) -> Option<Config<'d>> {
        let settled = ty.is_some_and(|ty| self.refused_type(step, ty));
        match step.get("config") {
            _ if settled => None,
            Some(located) if located.is_object() => Some(Config { located }),
            Some(other) => {
                self.odd(other, "the `config` of a step is an object", "put the settings in braces");
                None
            }
            None => {
                self.error(Kind::InvalidConfig, start_of(step), "a step needs `config`", "add \"config\": {…}");
                None
            }
        }
    }

    /// Whether nothing can be read of a step because of its type, which is told.
    fn refused_type(&mut self, step: &Located, ty: &str) -> bool {
        let span = step.get("type").map_or(step.span, |ty| ty.span);
        let known = OTHERS.iter().chain(&DECLARES).chain(&CALLS).copied();
        if UNSUPPORTED.contains(&ty) {
            let message = format!("steps of the type `{ty}` are not supported");
            self.error(Kind::UnsupportedStep, span, message, "a runCommand or an apiCall may do the same");
            return true;
        }
        if known.clone().any(|known| known == ty) {
            return false;
        }
        let finding = Diagnostic::error(Kind::UnknownStepType, span, format!("there is no step type `{ty}`"));
        self.findings.push(finding.with_help(format!("the types are {}", types())).suggest(ty, known));
        true
    }

    /// The variable that takes the data of a step, under its name or its older one.
    fn result(&mut self, config: Config<'_>) -> Option<Arc<str>> {
        let [result, older] = ["resultVariable", "responseVariable"].map(|key| self.identifier(config, key));
        if let (Some(result), Some(other), Some(second)) = (&result, &older, config.get("responseVariable"))
            && result != other
        {
            let message = "`resultVariable` and `responseVariable` are one setting, and here they differ";
            self.error(Kind::InvalidConfig, second.span, message, "keep one of them");
        }
        result.or(older)
    }

    fn what<'d>(
        &mut self,
        ty: &str,
        config: Config<'d>,
        at: Place<'_>,
        top: bool,
        step: &'d Located,
    ) -> Option<What<'d>> {
        match ty {
            "flow_variables" | "start" => {
                let first = self.declares_here(step, top);
                let declared = self.declarations(config);
                first.then_some(What::Declare(declared?))
            }
            "setVariables" => self.assignments(config).map(What::Assign),
            "conditional" => Some(self.conditional(config, at)),
            "switch" => Some(self.switch(config, at)),
            "loop" => Some(self.repeat(config, at)),
            "finish" => {
                self.unknown_keys(config.located, &[&COMMON, &["message", "data"]]);
                Some(What::Finish { message: config.get("message"), data: config.located.get("data") })
            }
            call => self.call(call, config).map(What::Call),
        }
    }

    /// Variables are declared once, at the top level.
    fn declares_here(&mut self, step: &Located, top: bool) -> bool {
        let span = step.get("type").map_or(step.span, |ty| ty.span);
        if !top {
            let message = "variables are declared at the top level of a flow only";
            self.error(Kind::InvalidFlow, span, message, "use setVariables here");
            return false;
        }
        if std::mem::replace(&mut self.declared, true) {
            let message = "a flow declares its variables in one step, and this is a second one";
            self.error(Kind::InvalidFlow, span, message, "put all variables into the first");
            return false;
        }
        true
    }

    fn conditional<'d>(&mut self, config: Config<'d>, at: Place<'_>) -> What<'d> {
        self.unknown_keys(config.located, &[&COMMON, &["condition", "if", "truePath", "falsePath"]]);
        let condition = self.condition(config);
        let (yes, no) = (self.blocks(config, "truePath", at), self.blocks(config, "falsePath", at));
        What::Conditional { condition, yes, no }
    }

    fn switch<'d>(&mut self, config: Config<'d>, at: Place<'_>) -> What<'d> {
        self.unknown_keys(config.located, &[&COMMON, &["variable", "cases", "defaultBlocks"]]);
        let variable = config.located.get("variable");
        if variable.is_none() {
            self.required(config, "variable");
        }
        let cases = self.cases(config, at);
        let otherwise = self.blocks(config, "defaultBlocks", at);
        match variable {
            Some(variable) => What::Switch { variable, cases, otherwise },
            None => What::Refused(cases.into_iter().flat_map(|case| case.blocks).chain(otherwise).collect()),
        }
    }

    fn cases<'d>(&mut self, config: Config<'d>, at: Place<'_>) -> Vec<Case<'d>> {
        let Some(list) = self.required(config, "cases") else { return Vec::new() };
        let Some(items) = list.items() else {
            self.odd(list, "`cases` is a list", "put the cases in square brackets");
            return Vec::new();
        };
        let cases = items.iter().enumerate().filter_map(|(index, case)| {
            if !case.is_object() {
                self.odd(case, "a case is an object", "write {\"value\": …, \"blocks\": […]}");
                return None;
            }
            self.unknown_keys(case, &[&["value", "blocks"]]);
            let position = format!("{}.cases[{index}]", at.position);
            let blocks = self.blocks(Config { located: case }, "blocks", Place { position: &position, ..at });
            if blocks.is_empty() && case.get("blocks").is_none_or(|blocks| blocks.items().is_none_or(<[_]>::is_empty)) {
                self.error(
                    Kind::InvalidConfig,
                    start_of(case),
                    "a case needs at least one step in `blocks`",
                    "add a step, or remove the case",
                );
            }
            let value = case.get("value");
            if value.is_none() {
                self.error(
                    Kind::InvalidConfig,
                    start_of(case),
                    "a case needs a `value`",
                    "add \"value\", or put the steps into `defaultBlocks`",
                );
            }
            Some(Case { value, blocks })
        });
        cases.collect()
    }
}

/// All types of steps, for those who look for one.
fn types() -> String {
    OTHERS.iter().chain(&CALLS).copied().collect::<Vec<_>>().join(", ")
}

fn refused<'d>(step: &Located, number: u32, position: &str, parent: Option<u32>) -> Step<'d> {
    Step {
        number,
        name: position.into(),
        ty: "".into(),
        parent,
        span: step.span,
        result: None,
        direct: false,
        what: What::Refused(Vec::new()),
    }
}
