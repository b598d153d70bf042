//! Files that a document names: scripts, prompts, roles and skills.

use branchpoint_core::effect::FilesOperation;
use branchpoint_core::ir::{PlaceId, Write};
use branchpoint_expr::{Object, Value};

use super::Lower;
use super::state::{CurrentState, Outcomes};
use super::templates::{object, plain};
use crate::machine::raw::{self, Skill};

/// The fact with the folder of the document. Calls pass it to their child runs, whose documents are in the same folder.
pub(super) const DOCUMENT_DIR: &str = "document_dir";

/// Files of the folders `scripts_dir` and `prompts_dir` are first searched in a folder beside the folder of the document.
const SCRIPT_PATHS: &str = r#"{"paths": concat(
    map(filter([["scripts_dir", "../scripts"], ["prompts_dir", "../prompts"]], {file startsWith awf[#[0]] + "/"}),
        {#[1] + file[len(awf[#[0]]):]}),
    [file]), "base": facts.document_dir}"#;

/// A role is the path of a folder or file, relative to the document, or a name.
const ROLE_PATHS: &str = r#"let role = request.role;
    let own = facts["env.AWF_ROLES_PATH"] ?? "";
    let names = own != "" ? split(own, ":") : [".awf/roles", ".agents/roles", CONFIG + "/roles", "~/.agents/roles"];
    role contains "/" || role startsWith "." || role startsWith "~"
        ? {"paths": [role endsWith "AGENTS.md" ? role : role + "/AGENTS.md"], "base": facts.document_dir}
        : {"paths": map(names, {# + "/" + role + "/AGENTS.md"})}"#;

/// The folders of skills by name.
const SKILL_PATHS: &str = r#"let own = facts["env.AWF_SKILLS_PATH"] ?? "";
    let names = own != "" ? split(own, ":") : [".awf/skills", ".agents/skills", ".claude/skills", CONFIG + "/skills",
        "~/.agents/skills", "~/.claude/skills"];
    {"paths": map(names, {# + "/" + NAME + "/SKILL.md"}), "list": true}"#;

/// The folder of settings that all projects share.
const CONFIG: &str =
    r#"((facts["env.XDG_CONFIG_HOME"] ?? "") != "" ? facts["env.XDG_CONFIG_HOME"] : "~/.config") + "/awf""#;

/// The text in the slot `file` without front matter.
const BODY: &str = r#"let text = type(file) == "map" ? file.text : string(file);
    let rest = text[4:];
    let end = indexOf(rest, "\n---\n");
    let body = not (text startsWith "---\n") ? text
        : end >= 0 ? trim(rest[end + 5:]) : rest endsWith "\n---" ? "" : text;
    "#;

/// A skill in its form before a prompt.
const SKILL: &str = r#"let folder = type(file) == "map" ? file.folder ?? "" : "";
    let files = type(file) == "map" ? file.files ?? [] : [];
    "<skill_content name=" + toJSON(last(split(folder, "/")) ?? "") + ">\n" + body + "\n\nSkill directory: " + folder
        + "\nRelative paths in this skill are relative to the skill directory."
        + (len(files) == 0 ? "" : "\n\n<skill_resources>\n" + join(map(files, {"<file>" + # + "</file>\n"}), "") + "</skill_resources>")
        + "\n</skill_content>""#;

/// The folders that documents name as `awf.*`.
const FOLDERS: &str = r#"let home = facts["env.HOME"];
    let at = {"config": facts["env.XDG_CONFIG_HOME"] ?? "", "data": facts["env.XDG_DATA_HOME"] ?? "", "cache": facts["env.XDG_CACHE_HOME"] ?? ""};
    let config = (at.config != "" ? at.config : home + "/.config") + "/awf";
    let data = (at.data != "" ? at.data : home + "/.local/share") + "/awf";
    {"config_dir": config, "data_dir": data, "cache_dir": (at.cache != "" ? at.cache : home + "/.cache") + "/awf",
        "prompts_dir": config + "/prompts", "scripts_dir": config + "/scripts", "skills_dir": config + "/skills",
        "roles_dir": config + "/roles", "workflows_dir": config + "/workflows", "plugins_dir": data + "/plugins"}"#;

impl Lower<'_> {
    /// Sets the slot `awf`.
    pub(super) fn folders(&mut self) -> Write {
        self.facts(&["env.HOME", "env.XDG_CONFIG_HOME", "env.XDG_DATA_HOME", "env.XDG_CACHE_HOME"]);
        self.store("awf", FOLDERS)
    }

    fn facts(&mut self, names: &[&str]) {
        for name in names {
            self.b.fact(name);
        }
    }

    /// Reads a script or a prompt, and expands its path and content.
    pub(super) fn file_text(
        &mut self,
        current: CurrentState<'_>,
        file: &raw::Text,
        next: PlaceId,
        outcomes: Outcomes,
    ) -> PlaceId {
        let expanded = self.expand_file(current, next, outcomes.unexpanded);
        let text = self.assign("file", r#"type(file) == "map" ? file.text : file"#, expanded);
        self.facts(&[DOCUMENT_DIR]);
        let paths = self.formula(SCRIPT_PATHS);
        let read = self.read(FilesOperation::Find, paths, self.slots["file"], text, outcomes.unexpanded);
        let path = self.assign("file", "string(file.path)", read);
        let template = object([("path", plain(Some(file)))]);
        self.expand(self.scope(current.context), &template, self.slots["file"], path, outcomes.unexpanded)
    }

    /// Replaces the role in the slot `request` by the text of its file. A missing role stays missing.
    pub(super) fn role(&mut self, next: PlaceId, outcomes: Outcomes) -> PlaceId {
        let text = format!(r#"{BODY}putPath(request, ["role"], body)"#);
        let read = self.assign("request", &text, next);
        self.facts(&[DOCUMENT_DIR, "env.AWF_ROLES_PATH", "env.XDG_CONFIG_HOME"]);
        let paths = self.formula(&ROLE_PATHS.replace("CONFIG", CONFIG));
        let missing = self.missing(r#""the role `" + string(request.role) + "`""#, &[], outcomes);
        let located = self.read(FilesOperation::Find, paths, self.slots["file"], read, missing);
        let none = self.test(r#"(request.role ?? "") == """#);
        self.b.decide([(none, next)], located, None)
    }

    /// Reads skills into the slot `before`, in order.
    pub(super) fn skills(&mut self, skills: &[Skill], next: PlaceId, outcomes: Outcomes) -> PlaceId {
        let mut place = next;
        for skill in skills.iter().rev() {
            let text = self.formula(&format!("{BODY}{SKILL}"));
            let stored =
                self.b.set([Write::Push(self.slots["before"], text)], place, Some(self.fail_to(outcomes.unexpanded)));
            let (paths, name) = match skill {
                Skill::Name(name) => {
                    self.facts(&["env.AWF_SKILLS_PATH", "env.XDG_CONFIG_HOME"]);
                    let named = [("NAME", Value::Str(name.text().clone()))];
                    (self.formula_with(&SKILL_PATHS.replace("CONFIG", CONFIG), &[], &named), name)
                }
                Skill::Path(folder) => {
                    self.facts(&[DOCUMENT_DIR]);
                    let path = Value::from(format!("{}/SKILL.md", folder.text().trim_end_matches('/')));
                    let fields = [("paths", Value::from(vec![path])), ("list", Value::Bool(true))];
                    let fields = fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>();
                    let text = r#"putPath(FILE, ["base"], facts.document_dir)"#;
                    (self.formula_with(text, &[], &[("FILE", Value::from(fields))]), folder)
                }
            };
            let named = [("NAME", Value::Str(name.text().clone()))];
            let missing = self.missing(r#""the skill `" + NAME + "`""#, &named, outcomes);
            place = self.read(FilesOperation::Find, paths, self.slots["file"], stored, missing);
        }
        self.clear(self.slots["before"], place)
    }

    /// A required file cannot be read; the error names it.
    fn missing(&mut self, what: &str, values: &[(&str, Value)], outcomes: Outcomes) -> PlaceId {
        let text = format!(r#"putPath(failure, ["message"], "cannot load " + {what} + ": " + failure.message)"#);
        self.assign_with("failure", &text, &[], values, outcomes.unexpanded)
    }
}
