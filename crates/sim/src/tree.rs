//! Structured workflows, which the generator creates, the lowering compiles and the model interprets.
//!
//! Every strand carries one value, its `last`. The input of an effect has its node, the positions of the enclosing items, the
//! counter of the enclosing scope and `last`, so that a wrong order, slot or copy shows in an input.

use branchpoint_core::ir::Status;

/// A sequence of nodes.
pub type Block = Vec<Node>;

/// A workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The body.
    pub body: Block,
    /// The block that runs on failure, before the run ends as failed.
    pub on_failure: Option<Block>,
    /// The block that runs on cancellation, before the run ends as cancelled.
    pub on_cancel: Option<Block>,
    /// The retry policy of the whole run.
    pub retry: Option<RetryPolicy>,
    /// The time limit of all attempts.
    pub limit_ms: Option<u64>,
    /// The maximum number of ops of one call of `advance`.
    pub fuel: u32,
    /// The maximum number of effects; 0 means no limit.
    pub max_effects: u64,
    /// The maximum number of tokens before effects are rejected; 0 means no limit.
    pub max_tokens: u64,
    /// The time limit of the run; 0 means no limit.
    pub wall_ms: u64,
    /// The maximum size of a value, in bytes.
    pub value_bytes: u64,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its number, which is unique in the tree. The root scope has number 0.
    pub id: u32,
    /// Its kind.
    pub kind: NodeKind,
}

/// The kind of a node.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// An effect. Without a handler, its failure fails the strand.
    Effect { retry: Option<RetryPolicy>, handler: Option<Block> },
    /// Adds one to the counter of an enclosing scope.
    Count { scope: u32 },
    /// A decision.
    If { test: Test, then: Block, other: Block },
    /// Blocks that run in parallel.
    Parallel { branches: Vec<Block>, gather: Gather, handler: Option<Block> },
    /// A block for each item.
    Each { items: Vec<i64>, body: Block, gather: Gather, handler: Option<Block> },
    /// A loop with a maximum number of rounds.
    While { test: Test, cap: u32, body: Block },
    /// A block with a time limit and a retry policy.
    Try { body: Block, limit_ms: Option<u64>, retry: Option<RetryPolicy>, handler: Option<Block> },
    /// Jumps back to an earlier or enclosing node, up to `max` times.
    Back { target: u32, max: u32 },
    /// Leaves an enclosing scope and continues after it.
    Break { scope: u32 },
    /// Fills an edge of a merge.
    Join { merge: u32 },
    /// Waits until each of its joins is filled or unreachable. Its edges belong to the scope `owner`.
    Merge { owner: u32, own: bool },
    /// Waits for a time.
    Sleep { delay_ms: u64 },
    /// Waits for its signal. If it is picky, odd payloads are rejected.
    Signal { keep: bool, picky: bool, limit_ms: Option<u64> },
    /// Requests votes from people.
    Request {
        people: u32,
        required: u32,
        timeout_ms: Option<u64>,
        reminder_ms: Option<u64>,
        expired: bool,
        rules: Option<Box<ApprovalRules>>,
    },
    /// Ends the run.
    Finish { status: Status },
    /// Fails.
    Fail,
    /// Ends its strand without a value.
    Blocked,
}

/// The rules of a request to people. Users are numbers, and the groups are named `g0` and `g1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApprovalRules {
    /// The members of each group.
    pub groups: [Vec<u32>; 2],
    /// The votes that a choice needs of each group; none if votes of any recipients count.
    pub need: Option<[u32; 2]>,
    /// Users whose `no` settles the request.
    pub veto: Vec<u32>,
    /// A group whose members have a veto, too.
    pub veto_group: Option<usize>,
    /// The user who started the run, and may not vote.
    pub excluded: Option<u32>,
    /// After a time, these users may vote, too.
    pub escalation: Option<(u64, Vec<u32>)>,
    /// Whether the request ends when no choice can have enough votes any more.
    pub end_early: bool,
    /// The proposed amount in the form; none without a form.
    pub form: Option<i64>,
}

/// A retry policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of attempts, including the first.
    pub attempts: u32,
    /// The delay between attempts.
    pub delay_ms: u64,
    /// Whether the n-th delay is n times the first.
    pub linear: bool,
}

/// When a scope with entries is done, and how failures are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// The number of delivered values that is enough; `None` means that all entries must end.
    pub first: Option<u32>,
    /// Whether a failed entry is an outcome, or fails the scope.
    pub keep: bool,
    /// The maximum number of entries that work at once; 0 means no limit.
    pub width: u32,
}

/// The test of a decision or a loop.
#[expect(missing_docs, reason = "the fields are explained with their variant")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Whether the counter of a scope is below a bound.
    Below { scope: u32, bound: i64 },
    /// Whether the strand's value is this number.
    Last(i64),
}

impl Node {
    /// The blocks inside it, in document order.
    pub fn blocks(&self) -> Vec<&Block> {
        match &self.kind {
            NodeKind::Effect { handler, .. } => handler.iter().collect(),
            NodeKind::If { then, other, .. } => vec![then, other],
            NodeKind::Parallel { branches, handler, .. } => branches.iter().chain(handler).collect(),
            NodeKind::Each { body, handler, .. } | NodeKind::Try { body, handler, .. } => {
                std::iter::once(body).chain(handler).collect()
            }
            NodeKind::While { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// Like [`Self::blocks`], mutable.
    pub fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match &mut self.kind {
            NodeKind::Effect { handler, .. } => handler.iter_mut().collect(),
            NodeKind::If { then, other, .. } => vec![then, other],
            NodeKind::Parallel { branches, handler, .. } => branches.iter_mut().chain(handler).collect(),
            NodeKind::Each { body, handler, .. } | NodeKind::Try { body, handler, .. } => {
                std::iter::once(body).chain(handler).collect()
            }
            NodeKind::While { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// The blocks that run in the node's frame. The others run in the strand that reached the node.
    pub fn framed(&self) -> Vec<&Block> {
        match &self.kind {
            NodeKind::Parallel { branches, .. } => branches.iter().collect(),
            NodeKind::Each { body, .. } | NodeKind::Try { body, .. } | NodeKind::While { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// The failure handler.
    pub fn handler(&self) -> Option<&Block> {
        match &self.kind {
            NodeKind::Effect { handler, .. }
            | NodeKind::Parallel { handler, .. }
            | NodeKind::Each { handler, .. }
            | NodeKind::Try { handler, .. } => handler.as_ref(),
            _ => None,
        }
    }

    /// Whether it opens a frame.
    pub fn is_scope(&self) -> bool {
        matches!(
            self.kind,
            NodeKind::Parallel { .. } | NodeKind::Each { .. } | NodeKind::While { .. } | NodeKind::Try { .. }
        )
    }

    /// Whether the next node is unreachable from it.
    pub fn is_last(&self) -> bool {
        match &self.kind {
            NodeKind::Break { .. } | NodeKind::Finish { .. } | NodeKind::Fail | NodeKind::Blocked => true,
            NodeKind::If { then, other, .. } => ends(then) && ends(other),
            _ => false,
        }
    }
}

/// Whether the end of a block is unreachable.
pub fn ends(block: &[Node]) -> bool {
    block.iter().any(Node::is_last)
}

impl Tree {
    /// The top-level blocks.
    pub fn blocks(&self) -> Vec<&Block> {
        std::iter::once(&self.body).chain(&self.on_failure).chain(&self.on_cancel).collect()
    }

    /// Like [`Self::blocks`], mutable.
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
        let joins = self.nodes().into_iter().filter(|node| node.kind == NodeKind::Join { merge });
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
