//! Workflows in a structured form: what the generator makes, the lowering takes, and the model walks.
//!
//! Every strand carries one value, its `last`. An effect is asked with its node, the positions of the items around it,
//! the counter of the scope around it and `last`; so a wrong order, a wrong slot or a wrong copy shows in an input.

use branchpoint_core::ir::Status;

/// Nodes one after the other.
pub type Block = Vec<Node>;

/// A workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// What it does.
    pub body: Block,
    /// What it does when it fails, before it ends as failed.
    pub on_failure: Option<Block>,
    /// What it does when it is cancelled, before it ends as cancelled.
    pub on_cancel: Option<Block>,
    /// How the whole run is tried again.
    pub retry: Option<Again>,
    /// How long all attempts of the run may take.
    pub limit_ms: Option<u64>,
    /// How many ops one call may run.
    pub fuel: u32,
    /// How many effects it may have; 0 is no bound.
    pub max_effects: u64,
    /// How many tokens it may use before an effect is refused; 0 is no bound.
    pub max_tokens: u64,
    /// How long it may take; 0 is no bound.
    pub wall_ms: u64,
    /// How large a value may be, in bytes.
    pub value_bytes: u64,
}

/// One element. Its number is unique in the tree; the root scope has number 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// What it is.
    pub what: What,
}

/// What a node is.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Work outside. Without a handler its failure is that of the strand.
    Effect { retry: Option<Again>, handler: Option<Block> },
    /// Adds one to the counter of a scope around it.
    Count { scope: u32 },
    /// A decision.
    If { test: Test, then: Block, other: Block },
    /// Several blocks at once.
    Parallel { branches: Vec<Block>, gather: Gather, handler: Option<Block> },
    /// A block for each item.
    Each { items: Vec<i64>, body: Block, gather: Gather, handler: Option<Block> },
    /// A loop with a cap.
    While { test: Test, cap: u32, body: Block },
    /// A block with a time limit and a retry policy.
    Try { body: Block, limit_ms: Option<u64>, retry: Option<Again>, handler: Option<Block> },
    /// Goes back to an element before it, or around it, so many times.
    Back { target: u32, max: u32 },
    /// Leaves a scope around it and goes on after it.
    Break { scope: u32 },
    /// Fills an edge of a merge.
    Join { merge: u32 },
    /// Waits until each of its joins is filled or out of reach. Its edges live in that scope.
    Merge { owner: u32, own: bool },
    /// Waits for a time.
    Sleep { delay_ms: u64 },
    /// Waits for a signal of its own; an odd payload is refused if it is picky.
    Signal { keep: bool, picky: bool, limit_ms: Option<u64> },
    /// Asks people.
    Request { people: u32, required: u32, timeout_ms: Option<u64>, reminder_ms: Option<u64>, expired: bool },
    /// Ends the run from wherever it is.
    Finish { status: Status },
    /// Fails.
    Fail,
    /// Ends its strand without a value.
    Blocked,
}

/// How something is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// Attempts, the first included.
    pub attempts: u32,
    /// The wait between them.
    pub delay_ms: u64,
    /// Whether the n-th wait is n times the first.
    pub linear: bool,
}

/// When a scope of entries is done, and what a failure in it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// How many deliveries are enough; none: all entries must end.
    pub first: Option<u32>,
    /// Whether a failed entry is kept as a result, or fails the whole.
    pub keep: bool,
    /// How many entries may work at once; 0 is no bound.
    pub width: u32,
}

/// What decides.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The counter of a scope is below a bound.
    Below { scope: u32, bound: i64 },
    /// The strand's value is that number.
    Last(i64),
}

impl Node {
    /// The blocks inside it, in document order.
    pub fn blocks(&self) -> Vec<&Block> {
        match &self.what {
            What::Effect { handler, .. } => handler.iter().collect(),
            What::If { then, other, .. } => vec![then, other],
            What::Parallel { branches, handler, .. } => branches.iter().chain(handler).collect(),
            What::Each { body, handler, .. } | What::Try { body, handler, .. } => {
                std::iter::once(body).chain(handler).collect()
            }
            What::While { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// As [`Self::blocks`], to be changed.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match &mut self.what {
            What::Effect { handler, .. } => handler.iter_mut().collect(),
            What::If { then, other, .. } => vec![then, other],
            What::Parallel { branches, handler, .. } => branches.iter_mut().chain(handler).collect(),
            What::Each { body, handler, .. } | What::Try { body, handler, .. } => {
                std::iter::once(body).chain(handler).collect()
            }
            What::While { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// The blocks that run in a frame of its own; the others run in the strand that came to it.
    pub fn framed(&self) -> Vec<&Block> {
        match &self.what {
            What::Parallel { branches, .. } => branches.iter().collect(),
            What::Each { body, .. } | What::Try { body, .. } | What::While { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// What handles its failure.
    pub fn handler(&self) -> Option<&Block> {
        match &self.what {
            What::Effect { handler, .. }
            | What::Parallel { handler, .. }
            | What::Each { handler, .. }
            | What::Try { handler, .. } => handler.as_ref(),
            _ => None,
        }
    }

    /// Whether it opens a frame.
    pub fn is_scope(&self) -> bool {
        matches!(self.what, What::Parallel { .. } | What::Each { .. } | What::While { .. } | What::Try { .. })
    }

    /// Whether what stands behind it is never reached from it.
    pub fn is_last(&self) -> bool {
        match &self.what {
            What::Break { .. } | What::Finish { .. } | What::Fail | What::Blocked => true,
            What::If { then, other, .. } => ends(then) && ends(other),
            _ => false,
        }
    }
}

/// Whether a block is never left at its end.
pub fn ends(block: &[Node]) -> bool {
    block.iter().any(Node::is_last)
}

impl Tree {
    /// The blocks at the top.
    pub fn blocks(&self) -> Vec<&Block> {
        std::iter::once(&self.body).chain(&self.on_failure).chain(&self.on_cancel).collect()
    }

    /// As [`Self::blocks`], to be changed.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        std::iter::once(&mut self.body).chain(&mut self.on_failure).chain(&mut self.on_cancel).collect()
    }

    /// All nodes in document order.
    pub fn nodes(&self) -> Vec<&Node> {
        let mut nodes = Vec::new();
        self.blocks().into_iter().for_each(|block| collect(block, &mut nodes));
        nodes
    }

    /// The joins of a merge, in document order.
    pub fn joins(&self, merge: u32) -> Vec<u32> {
        let joins = self.nodes().into_iter().filter(|node| node.what == What::Join { merge });
        joins.map(|node| node.id).collect()
    }
}

/// Adds the nodes of a block in document order.
pub fn collect<'t>(block: &'t [Node], into: &mut Vec<&'t Node>) {
    for node in block {
        into.push(node);
        node.blocks().into_iter().for_each(|inner| collect(inner, into));
    }
}
