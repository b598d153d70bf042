//! Operations of a canvas as requests send them.

use std::collections::BTreeMap;

use branchpoint_dialects::{Operation, Position, Segment};
use branchpoint_expr::{Object, Value};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::problem::Problem;

/// An edit of a document, by its `op`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum OperationRequest {
    /// Adds a step. Its fields are those of the palette, replaced or extended by `fields`.
    Add {
        /// The type, from the palette.
        step_type: String,
        position: PositionRequest,
        /// The id; made from the type if absent.
        #[serde(default)]
        id: Option<String>,
        /// Fields of the step; in a graph, of its `data`.
        #[serde(default)]
        #[schema(value_type = Option<Object>)]
        fields: Option<Value>,
    },
    /// Removes steps. The response lists what refers to them, so that a person can decide before the result is used.
    Remove {
        /// The ids, at most 200.
        steps: Vec<String>,
        /// Whether the children of a step are removed with it. Otherwise they take its place.
        #[serde(default)]
        with_children: bool,
    },
    /// Moves a step of a step tree with everything inside of it.
    Move { step: String, position: PositionRequest },
    /// Connects two nodes of a graph.
    Connect {
        source: String,
        /// The handle of the source; `output` if absent.
        #[serde(default)]
        handle: Option<String>,
        target: String,
    },
    /// Removes a connection of a graph.
    Disconnect {
        source: String,
        /// The handle of the source; any if absent.
        #[serde(default)]
        handle: Option<String>,
        target: String,
    },
    /// Gives a step another id, also in everything that refers to it.
    Rename {
        step: String,
        /// The new id.
        id: String,
    },
    /// Sets a field of a step, or of the document without `step`. An item is added to a list at the position after its last.
    SetField {
        #[serde(default)]
        step: Option<String>,
        path: Vec<PathSegment>,
        #[schema(value_type = Value)]
        value: Value,
    },
    /// Removes a field, or an item of a list.
    RemoveField {
        #[serde(default)]
        step: Option<String>,
        path: Vec<PathSegment>,
    },
    /// Moves a condition or a branch of a decision. Its targets follow it.
    Reorder {
        step: String,
        /// The present position, from 0.
        from: u32,
        /// The new position.
        to: u32,
    },
    /// Inserts copied steps. Their ids become unique, and references between them follow.
    Paste {
        /// Steps of a tree, or nodes and connections of a graph, as YAML or JSON.
        fragment: String,
        position: PositionRequest,
    },
    /// Sets where nodes of a graph are drawn.
    SetPositions {
        /// The places by id.
        positions: BTreeMap<String, PointRequest>,
    },
}

/// Where a step is added, moved or pasted, by its `at`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "at", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum PositionRequest {
    /// Before the first step of a tree; in a graph, not connected.
    Start {},
    /// After the last step of a tree; in a graph, not connected.
    End {},
    /// In the list of a step of a tree, before it.
    Before { step: String },
    /// In the list of a step of a tree, after it.
    After { step: String },
    /// What runs next after a step. In a graph, connected to a handle of the step.
    Below {
        step: String,
        #[serde(default)]
        branch: Option<String>,
    },
    /// Between two steps that an edge of the drawing connects.
    Edge {
        /// The step that the edge leaves, or `start`.
        from: String,
        #[serde(default)]
        branch: Option<String>,
        /// The step that it leads to, or `end`.
        to: String,
    },
    /// In a branch of a step of a tree.
    Branch {
        step: String,
        /// `then`, `elif-0`, `else`, `body`, `on_error`, `child_steps`, or the name of a case or a branch.
        branch: String,
        /// The position in the branch; the end if absent.
        #[serde(default)]
        index: Option<u32>,
    },
    /// A place on the canvas of a graph, not connected.
    Free { x: f64, y: f64 },
}

/// A key of an object, or a position in a list.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum PathSegment {
    Key(String),
    Index(u32),
}

/// A place on the canvas.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PointRequest {
    x: f64,
    y: f64,
}

impl OperationRequest {
    pub(super) fn operation(self) -> Result<Operation, Problem> {
        Ok(match self {
            Self::Add { step_type, position, id, fields } => {
                Operation::Add { step_type, position: position.position(), id, fields: object(fields)? }
            }
            Self::Remove { steps, with_children } => Operation::Remove { steps, with_children },
            Self::Move { step, position } => Operation::Move { step, position: position.position() },
            Self::Connect { source, handle, target } => Operation::Connect { source, handle, target },
            Self::Disconnect { source, handle, target } => Operation::Disconnect { source, handle, target },
            Self::Rename { step, id } => Operation::Rename { step, id },
            Self::SetField { step, path, value } => Operation::SetField { step, path: segments(path), value },
            Self::RemoveField { step, path } => Operation::RemoveField { step, path: segments(path) },
            Self::Reorder { step, from, to } => Operation::Reorder { step, from: from as usize, to: to as usize },
            Self::Paste { fragment, position } => Operation::Paste { fragment, position: position.position() },
            Self::SetPositions { positions } => {
                let positions = positions.into_iter().map(|(id, point)| (id, point.x, point.y));
                Operation::SetPositions(positions.collect())
            }
        })
    }
}

impl PositionRequest {
    fn position(self) -> Position {
        match self {
            Self::Start {} => Position::Start,
            Self::End {} => Position::End,
            Self::Before { step } => Position::Before(step),
            Self::After { step } => Position::After(step),
            Self::Below { step, branch } => Position::Below { step, branch },
            Self::Edge { from, branch, to } => Position::Edge { from, branch, to },
            Self::Branch { step, branch, index } => {
                Position::Branch { step, branch, index: index.map(|index| index as usize) }
            }
            Self::Free { x, y } => Position::Free { x, y },
        }
    }
}

fn segments(path: Vec<PathSegment>) -> Vec<Segment> {
    let segment = |segment| match segment {
        PathSegment::Key(key) => Segment::Key(key.into()),
        PathSegment::Index(index) => Segment::Index(index as usize),
    };
    path.into_iter().map(segment).collect()
}

fn object(fields: Option<Value>) -> Result<Object, Problem> {
    match fields {
        None | Some(Value::Null) => Ok(Object::default()),
        Some(fields) => {
            fields.as_object().cloned().ok_or_else(|| Problem::invalid_input("The `fields` of a step are an object."))
        }
    }
}
