//! A document as a list of steps with their fields, and the fields of the document itself, for every dialect.

use std::sync::Arc;

use branchpoint_expr::{Dialect, Located, Object, Value};

use crate::path::{Segment, extended};

/// A document in parts.
#[derive(Debug, Default)]
pub(crate) struct Parts<'d> {
    /// The fields of the document.
    pub(crate) fields: Vec<Field<'d>>,
    /// The steps, in the order of the text.
    pub(crate) steps: Vec<Part<'d>>,
}

/// A step, a state or a node.
#[derive(Debug)]
pub(crate) struct Part<'d> {
    /// The id, or a position for a step without an id.
    pub(crate) id: Arc<str>,
    /// Whether the author wrote the id.
    pub(crate) is_named: bool,
    /// The type.
    pub(crate) kind: Arc<str>,
    /// The enclosing step.
    pub(crate) parent: Option<usize>,
    /// The list of the enclosing step that contains it, such as `then_steps` or `cases.urgent`.
    pub(crate) list: String,
    /// The path of its object in the document.
    pub(crate) path: Vec<Segment>,
    /// Its fields, without the steps in it.
    pub(crate) fields: Vec<Field<'d>>,
}

/// A field of a step or of the document.
#[derive(Clone, Debug)]
pub(crate) struct Field<'d> {
    pub(crate) name: Arc<str>,
    pub(crate) value: Value,
    /// The path from the object of the step to the field.
    pub(crate) inside: Vec<Segment>,
    /// The value in the document; none if the field combines several places or contains steps.
    pub(crate) located: Option<&'d Located>,
}

/// Where a dialect has steps.
pub(super) struct Layout {
    /// The field with the id of a step.
    id: &'static str,
    /// The field with the type of a step.
    type_field: &'static str,
    /// The object in a step with its settings, which count as fields of the step.
    settings: Option<&'static str>,
    /// The fields with lists of steps.
    lists: &'static [&'static str],
    /// The fields with lists of objects that contain lists of steps.
    entries: &'static [&'static str],
    /// Other names of fields.
    aliases: &'static [(&'static str, &'static str)],
    /// Whether the order of the steps in a list has a meaning.
    pub(super) is_ordered: bool,
}

const STEPS: Layout = Layout {
    id: "id",
    type_field: "step_type",
    settings: None,
    lists: &["steps", "child_steps", "then_steps", "else_steps", "then", "else", "body", "on_error", "on_budget"],
    entries: &["cases", "branches", "elif"],
    aliases: &[("child_steps", "steps"), ("prompt", "prompt_template"), ("attachments", "attachment_rules")],
    is_ordered: true,
};
const FLOW: Layout = Layout {
    id: "id",
    type_field: "type",
    settings: Some("config"),
    lists: &["steps", "truePath", "falsePath", "loopBlocks", "defaultBlocks", "blocks"],
    entries: &["cases"],
    aliases: &[("responseVariable", "resultVariable")],
    is_ordered: true,
};
const MACHINE: Layout = Layout {
    id: "name",
    type_field: "type",
    settings: None,
    lists: &[],
    entries: &[],
    aliases: &[("condition", "while"), ("stop_condition", "stop_conditions")],
    is_ordered: false,
};
const SESSION: Layout = Layout {
    id: "name",
    type_field: "type",
    settings: None,
    lists: &["steps"],
    entries: &[],
    aliases: &[],
    is_ordered: true,
};
const GRAPH: Layout = Layout {
    id: "id",
    type_field: "type",
    settings: Some("data"),
    lists: &["nodes"],
    entries: &[],
    aliases: &[],
    is_ordered: false,
};

impl Layout {
    pub(super) fn of(dialect: Dialect) -> &'static Self {
        match dialect {
            Dialect::Steps => &STEPS,
            Dialect::Flow => &FLOW,
            Dialect::Machine => &MACHINE,
            Dialect::Session => &SESSION,
            Dialect::Graph => &GRAPH,
        }
    }

    fn name(&self, key: &str) -> Arc<str> {
        self.aliases.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, name)| name).into()
    }

    fn is_list(&self, key: &str, value: &Located) -> bool {
        self.lists.contains(&key) && value.items().is_some()
    }
}

/// The lists of nodes or states whose order has no meaning, by their key.
pub(super) const UNORDERED: &str = "nodes";

impl<'d> Parts<'d> {
    pub(crate) fn of(document: &'d Located, dialect: Dialect) -> Self {
        let mut reader = Reader { layout: Layout::of(dialect), parts: Self::default() };
        match dialect {
            Dialect::Machine => reader.machine(document),
            Dialect::Session => {
                let orchestration = document.get("orchestration").filter(|_| document.get("nodes").is_some());
                let path = orchestration.map(|_| key("orchestration")).into_iter().collect::<Vec<_>>();
                reader.document(document, &[], "orchestration");
                if let Some(orchestration) = orchestration {
                    reader.document(orchestration, &path, "");
                }
            }
            Dialect::Steps | Dialect::Flow | Dialect::Graph => reader.document(document, &[], "connections"),
        }
        if dialect == Dialect::Graph {
            reader.connections(document);
        }
        reader.parts
    }
}

struct Reader<'d> {
    layout: &'static Layout,
    parts: Parts<'d>,
}

impl<'d> Reader<'d> {
    /// Reads the fields and the steps of a document without one of its keys.
    fn document(&mut self, document: &'d Located, path: &[Segment], without: &str) {
        for field in document.fields().iter().filter(|field| &*field.key != without) {
            let inside = extended(path, key(&field.key));
            if self.layout.is_list(&field.key, &field.value) {
                self.list(&field.value, &inside, None, &self.layout.name(&field.key));
            } else {
                self.parts.fields.push(written(self.layout.name(&field.key), &field.value, inside));
            }
        }
    }

    fn machine(&mut self, document: &'d Located) {
        self.document(document, &[], "states");
        let states = document.get("states").map(Located::fields).unwrap_or_default();
        for state in states {
            let path = vec![key("states"), key(&state.key)];
            if !state.value.is_object() {
                self.parts.fields.push(written(Arc::clone(&state.key), &state.value, path));
                continue;
            }
            let kind = state.value.get("type").and_then(Located::text).cloned().unwrap_or_else(|| "".into());
            let mut part = Part {
                id: Arc::clone(&state.key),
                is_named: true,
                kind,
                parent: None,
                list: String::new(),
                path,
                fields: Vec::new(),
            };
            let fields = state.value.fields().iter();
            part.fields
                .extend(fields.map(|field| written(self.layout.name(&field.key), &field.value, vec![key(&field.key)])));
            self.parts.steps.push(part);
        }
    }

    fn list(&mut self, list: &'d Located, path: &[Segment], parent: Option<usize>, name: &str) {
        for (at, item) in list.items().unwrap_or_default().iter().enumerate() {
            if item.is_object() {
                self.step(item, &extended(path, Segment::Index(at)), parent, name);
            }
        }
    }

    fn step(&mut self, item: &'d Located, path: &[Segment], parent: Option<usize>, list: &str) {
        let text = |name: &str| item.get(name).and_then(Located::text).cloned();
        let id = text(self.layout.id);
        let number = self.parts.steps.len();
        let part = Part {
            is_named: id.is_some(),
            id: id.unwrap_or_else(|| format!("step_{}", number + 1).into()),
            kind: text(self.layout.type_field).unwrap_or_else(|| "".into()),
            parent,
            list: list.to_owned(),
            path: path.to_vec(),
            fields: Vec::new(),
        };
        self.parts.steps.push(part);
        let settings =
            self.layout.settings.and_then(|name| Some((name, item.get(name).filter(|value| value.is_object())?)));
        for field in item.fields() {
            if settings.is_some_and(|(name, _)| *name == *field.key) || *field.key == *self.layout.id {
                continue;
            }
            self.field(number, field, path, &[]);
        }
        if let Some((name, settings)) = settings {
            for field in settings.fields() {
                self.field(number, field, &extended(path, key(name)), &[key(name)]);
            }
        }
    }

    /// Reads a field of a step: a list of steps, a list of objects with steps, or a value.
    fn field(&mut self, step: usize, field: &'d branchpoint_expr::Field, path: &[Segment], inside: &[Segment]) {
        let (name, path) = (self.layout.name(&field.key), extended(path, key(&field.key)));
        let inside = extended(inside, key(&field.key));
        if self.layout.is_list(&field.key, &field.value) {
            self.list(&field.value, &path, Some(step), &name);
        } else if let Some(entries) = field.value.items().filter(|_| self.layout.entries.contains(&&*field.key)) {
            let mut values = Vec::new();
            let mut has_steps = false;
            for (at, entry) in entries.iter().enumerate() {
                let label = ["name", "match", "value"].iter().find_map(|key| entry.get(key));
                let label = label.map_or_else(|| at.to_string(), |label| label.to_value().to_string());
                let mut rest = Object::default();
                for inner in entry.fields() {
                    if self.layout.is_list(&inner.key, &inner.value) {
                        has_steps = true;
                        let path = extended(&extended(&path, Segment::Index(at)), key(&inner.key));
                        self.list(&inner.value, &path, Some(step), &format!("{name}.{label}"));
                    } else {
                        rest.insert(Arc::clone(&inner.key), inner.value.to_value());
                    }
                }
                values.push(if entry.is_object() { Value::from(rest) } else { entry.to_value() });
            }
            let located = Some(&field.value).filter(|_| !has_steps);
            self.parts.steps[step].fields.push(Field { name, value: Value::from(values), inside, located });
        } else {
            self.parts.steps[step].fields.push(written(name, &field.value, inside));
        }
    }

    /// The connections of a graph, as fields of the nodes that they leave: one field for each handle, with the targets in order.
    fn connections(&mut self, document: &Located) {
        for connection in document.get("connections").and_then(Located::items).unwrap_or_default() {
            let text = |name: &str| connection.get(name).map(|value| value.to_value().to_string());
            let (Some(source), Some(target)) = (text("source"), text("target")) else { continue };
            let Some(node) = self.parts.steps.iter_mut().find(|node| *node.id == *source) else { continue };
            let handle = text("sourceHandle").unwrap_or_else(|| "output".to_owned());
            let name: Arc<str> = format!("connections.{handle}").into();
            let target = Value::from(target);
            if let Some(field) = node.fields.iter_mut().find(|field| field.name == name) {
                let targets = field.value.as_list().unwrap_or_default().iter().cloned().chain([target]);
                field.value = Value::from(targets.collect::<Vec<_>>());
            } else {
                let value = Value::from(vec![target]);
                node.fields.push(Field { name, value, inside: Vec::new(), located: None });
            }
        }
    }
}

pub(super) fn key(name: &str) -> Segment {
    Segment::Key(name.into())
}

fn written(name: Arc<str>, value: &Located, inside: Vec<Segment>) -> Field<'_> {
    Field { name, value: value.to_value(), inside, located: Some(value) }
}
