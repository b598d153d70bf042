//! Reads steps at any depth.

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Kind, Located};

use super::tables::{COMMON, FLOW, STEP, STEP_CONFIG, StepType, TYPES};
use super::{Assignment, Case, Reading, Step, StepKind, Test};
use crate::DocumentKinds as _;
use crate::fields::{Access, Path, Table, Unknown};

const UNSUPPORTED: [&str; 2] = ["codeInterpreter", "streamUI"];

/// A step whose settings are being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    pub(super) number: u32,
    /// Its position, the prefix of the names of nested steps.
    pub(super) position: &'p str,
}

impl<'p> Place<'p> {
    /// The path of its settings.
    pub(super) fn config(&self) -> Path<'p> {
        Path::Config(self.position)
    }
}

impl Reading {
    /// Reads the steps of a list. An invalid entry is reported and becomes an empty step.
    pub(super) fn steps<'d>(&mut self, list: &'d Located, position: &str, parent: Option<u32>) -> Vec<Step<'d>> {
        let items = list.items().unwrap_or_default().iter().enumerate();
        items.map(|(index, step)| self.step(step, &format!("{position}[{index}]"), parent)).collect()
    }

    /// The blocks under a key of a step; absent and null are none.
    pub(super) fn blocks<'d>(&mut self, config: &'d Located, key: &str, at: Place<'_>) -> Vec<Step<'d>> {
        let Some(list) = config.given(key) else { return Vec::new() };
        self.steps(list, &format!("{}.{key}", at.position), Some(at.number))
    }

    fn step<'d>(&mut self, step: &'d Located, position: &str, parent: Option<u32>) -> Step<'d> {
        let number = self.steps;
        self.steps += 1;
        let ty = step.str("type").cloned();
        let of = ty.as_deref().and_then(|ty| self.step_type(step, ty));
        let tables: &[Table] = if ty.is_some() && of.is_none() { &[STEP] } else { &[STEP, STEP_CONFIG] };
        let is_object = self.check(FLOW).object(Path::Root(position), step, tables);
        let mut read = refused(step, number, position, parent);
        if is_object {
            read.name = self.name(step, position);
        }
        if let (Some(ty), Some(of), Some(config)) = (ty, of, step.get("config").filter(|config| config.is_object())) {
            read.ty = ty;
            let at = Place { number, position };
            read.kind = self.step_kind(of, config, at, parent.is_none(), step).unwrap_or(StepKind::Refused(Vec::new()));
            read.result = self.result(config);
            read.direct = config.flag("directOutput").unwrap_or(false);
        }
        read
    }

    fn name(&mut self, step: &Located, position: &str) -> Arc<str> {
        let id = step.str("id").filter(|id| !id.trim().is_empty());
        if let (Some(id), Some(located)) = (id, step.get("id")) {
            match self.ids.get(id) {
                None => drop(self.ids.insert(id.clone(), located.span)),
                Some(first) => {
                    let message = format!("the id `{id}` is used by two steps");
                    let finding = Diagnostic::warning(Kind::DuplicateId, located.span, message);
                    let finding = finding.with_related(*first, format!("the first step `{id}` is here"));
                    self.findings.push(finding.with_help("give one of the two steps another id"));
                }
            }
        }
        id.cloned().unwrap_or_else(|| position.into())
    }

    /// The type of a step; none, with a finding, if there is no such type.
    fn step_type(&mut self, step: &Located, ty: &str) -> Option<&'static StepType> {
        let known = TYPES.iter().find(|(name, ..)| *name == ty);
        let span = step.get("type").map_or(step.span, |ty| ty.span);
        if UNSUPPORTED.contains(&ty) {
            let message = format!("steps of the type `{ty}` are not supported");
            self.error(Kind::UnsupportedStep, span, message, "use a runCommand or an apiCall instead");
        } else if known.is_none() {
            let names = TYPES.iter().map(|(name, ..)| *name);
            let help = format!("the types are {}", names.clone().collect::<Vec<_>>().join(", "));
            let finding = Diagnostic::error(Kind::UnknownStepType, span, format!("there is no step type `{ty}`"));
            self.findings.push(finding.with_help(help).suggest(ty, names));
        }
        known
    }

    /// The variable for the data of a step, by either of its keys.
    fn result(&mut self, config: &Located) -> Option<Arc<str>> {
        let [result, older] = ["resultVariable", "responseVariable"].map(|key| config.str(key));
        if let (Some(_), Some(_), Some(second)) = (result, older, config.get("responseVariable"))
            && result != older
        {
            let message = "`resultVariable` and `responseVariable` are one setting, but differ";
            self.error(Kind::InvalidConfig, second.span, message, "keep one of them");
        }
        result.or(older).cloned()
    }

    fn step_kind<'d>(
        &mut self,
        (ty, _, tables): &StepType,
        config: &'d Located,
        at: Place<'_>,
        top: bool,
        step: &'d Located,
    ) -> Option<StepKind<'d>> {
        if *ty == "loop" {
            return Some(self.repeat(config, at));
        }
        let mut check = self.check_config();
        if ["webSearch", "webScraping"].contains(ty) {
            check.style.unknown = Unknown::None;
        }
        check.object(at.config(), config, &[&[COMMON], *tables].concat());
        match *ty {
            "flow_variables" | "start" => {
                let first = self.declares_here(step, top);
                let declared = self.declarations(config);
                first.then_some(StepKind::Declare(declared))
            }
            "setVariables" => Some(StepKind::Assign(Assignment::read_all(config))),
            "conditional" => {
                let (yes, no) = (self.blocks(config, "truePath", at), self.blocks(config, "falsePath", at));
                Some(StepKind::Conditional { condition: Test::read(config), yes, no })
            }
            "switch" => Some(self.switch(config, at)),
            "finish" => Some(StepKind::Finish { message: config.given("message"), data: config.get("data") }),
            call => self.call(call, config).map(StepKind::Call),
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

    fn switch<'d>(&mut self, config: &'d Located, at: Place<'_>) -> StepKind<'d> {
        let mut cases = Vec::new();
        for (index, case) in config.list("cases").iter().enumerate().filter(|(_, case)| case.is_object()) {
            let position = format!("{}.cases[{index}]", at.position);
            let blocks = self.blocks(case, "blocks", Place { position: &position, ..at });
            cases.push(Case { value: case.get("value"), blocks });
        }
        let otherwise = self.blocks(config, "defaultBlocks", at);
        match config.get("variable") {
            Some(variable) => StepKind::Switch { variable, cases, otherwise },
            None => StepKind::Refused(cases.into_iter().flat_map(|case| case.blocks).chain(otherwise).collect()),
        }
    }
}

impl<'d> Test<'d> {
    pub(super) fn read(config: &'d Located) -> Option<Self> {
        match (config.given("condition"), config.given("if")) {
            (Some(group), Some(second)) => Some(Self::Both(group, second)),
            (Some(group), None) => Some(Self::Group(group)),
            (None, condition) => condition.map(Self::If),
        }
    }
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
        kind: StepKind::Refused(Vec::new()),
    }
}
