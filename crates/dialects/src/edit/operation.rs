//! The operations of a canvas.

use branchpoint_expr::{Object, Value};

use crate::path::Segment;

/// An edit of a document.
///
/// ```
/// use branchpoint_dialects::{Operation, Position, edit};
///
/// let source = "name: hello\nsteps:\n  - {id: a, step_type: text, template: Hello}\n";
/// let add = Operation::Add {
///     step_type: "display_result".to_owned(),
///     position: Position::After("a".to_owned()),
///     id: Some("show".to_owned()),
///     fields: Default::default(),
/// };
/// assert!(edit(source, None, &add)?.text.ends_with("  - {id: show, step_type: display_result}\n"));
/// # Ok::<(), branchpoint_dialects::EditError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Adds a step of a type. Its fields are those of the palette, replaced or extended by `fields`.
    Add {
        /// The type.
        step_type: String,
        /// Where it is added.
        position: Position,
        /// Its id; made from the type if absent.
        id: Option<String>,
        /// Fields of the step; in a graph, of its `data`.
        fields: Object,
    },
    /// Removes steps. The children of a step take its place unless they are removed with it.
    Remove {
        /// The ids of the steps.
        steps: Vec<String>,
        /// Whether the children are removed, too.
        with_children: bool,
    },
    /// Moves a step of a step tree with everything inside of it.
    Move {
        /// The id of the step.
        step: String,
        /// Where it is moved.
        position: Position,
    },
    /// Connects two nodes of a graph.
    Connect {
        /// The node that the connection leaves.
        source: String,
        /// The handle of the source; `output` if absent.
        handle: Option<String>,
        /// The node that it leads to.
        target: String,
    },
    /// Removes a connection of a graph.
    Disconnect {
        /// The node that the connection leaves.
        source: String,
        /// The handle of the source; any if absent.
        handle: Option<String>,
        /// The node that it leads to.
        target: String,
    },
    /// Gives a step another id, also in everything that refers to it.
    Rename {
        /// The present id.
        step: String,
        /// The new id.
        id: String,
    },
    /// Sets a field of a step, or of the document.
    SetField {
        /// The id of the step; none for the document.
        step: Option<String>,
        /// The path from the object of the step, such as `elif[0].if`.
        path: Vec<Segment>,
        /// The new value.
        value: Value,
    },
    /// Removes a field of a step or of the document, or an item of a list in it.
    RemoveField {
        /// The id of the step; none for the document.
        step: Option<String>,
        /// The path from the object of the step.
        path: Vec<Segment>,
    },
    /// Moves a condition or a branch of a decision to another position. The targets follow it.
    Reorder {
        /// The id of the decision.
        step: String,
        /// The present position, from 0.
        from: usize,
        /// The new position.
        to: usize,
    },
    /// Inserts steps that were copied as text. Their ids become unique.
    Paste {
        /// The text: steps of a tree, or nodes and connections of a graph.
        fragment: String,
        /// Where they are inserted.
        position: Position,
    },
    /// Sets where nodes of a graph are drawn: the id with `x` and `y`.
    SetPositions(Vec<(String, f64, f64)>),
}

/// Where a step is added, moved or pasted.
///
/// ```
/// use branchpoint_dialects::Position;
///
/// let position = Position::Edge { from: "ask".to_owned(), branch: Some("approve".to_owned()), to: "mail".to_owned() };
/// assert_ne!(position, Position::End);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Position {
    /// Before the first step of a tree; in a graph, not connected.
    Start,
    /// After the last step of a tree; in a graph, not connected.
    End,
    /// In the list of a step of a tree, before it.
    Before(String),
    /// In the list of a step of a tree, after it.
    After(String),
    /// What runs next after a step. In a graph, connected to a handle of the step.
    Below {
        /// The id of the step.
        step: String,
        /// The handle; the first that is not connected if absent.
        branch: Option<String>,
    },
    /// Between two steps that an edge connects.
    Edge {
        /// The step that the edge leaves, or `start`.
        from: String,
        /// The branch of the decision from which it leaves.
        branch: Option<String>,
        /// The step that it leads to, or `end`.
        to: String,
    },
    /// In a branch of a step of a tree.
    Branch {
        /// The id of the step.
        step: String,
        /// The branch: `then`, `elif-0`, `else`, `body`, `on_error`, or the name of a case or a branch.
        branch: String,
        /// The position in the branch; the end if absent.
        index: Option<usize>,
    },
    /// A place on the canvas of a graph, not connected.
    Free {
        /// The horizontal position.
        x: f64,
        /// The vertical position.
        y: f64,
    },
}
