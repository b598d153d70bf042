//! Generates random workflows that the validator accepts.

use branchpoint_core::ir::Status;

use crate::lower::lower;
use crate::rng::Rng;
use crate::tree::{ApprovalRules, Block, Gather, Node, NodeKind, RetryPolicy, Test, Tree};

/// The workflows of a seed.
pub fn trees(seed: u64) -> Vec<Tree> {
    let mut rng = Rng::new(seed);
    (0..=rng.index(3)).map(|_| generate(&mut rng)).collect()
}

/// Generates a workflow whose lowered program the validator accepts.
pub fn generate(rng: &mut Rng) -> Tree {
    let budget = 3 + rng.small(if rng.clone().percent(20) { 26 } else { 14 });
    let mut generator = Generator { rng, last_id: 0, budget, jumps_left: 2, scopes: vec![0], trail: Vec::new() };
    let body = generator.block(0);
    let on_failure = generator.rng.percent(20).then(|| generator.small_block());
    let on_cancel = generator.rng.percent(30).then(|| generator.small_block());
    let last_id = generator.last_id;
    let tree = Tree {
        body,
        on_failure,
        on_cancel,
        retry: (rng.percent(8)).then_some(RetryPolicy { attempts: 2, delay_ms: 300, linear: false }),
        limit_ms: (rng.percent(8)).then(|| rng.below(15_000)),
        fuel: *rng.pick(&[1, 2, 3, 5, 8, 1000]),
        max_effects: if rng.percent(4) { 1 + rng.below(12) } else { 0 },
        max_tokens: if rng.percent(4) { 1 + rng.below(60) } else { 0 },
        wall_ms: if rng.percent(4) { 1 + rng.below(20_000) } else { 0 },
        value_bytes: value_bytes(&mut rng.clone()),
    };
    with_merges(tree, last_id, rng)
}

/// Draws the limit on values. Gathering shared values doubles their size, so the limit is low enough to be reached, sometimes by
/// values of a few parts.
fn value_bytes(rng: &mut Rng) -> u64 {
    if rng.percent(8) { *rng.pick(&[60, 150, 500, 2_000]) } else { 64 * 1024 }
}

struct Generator<'r> {
    rng: &'r mut Rng,
    last_id: u32,
    budget: u32,
    /// The remaining number of jumps back. It is small, because they multiply the work of a run.
    jumps_left: u32,
    /// The enclosing scopes.
    scopes: Vec<u32>,
    /// For every enclosing block, the ids of its nodes so far.
    trail: Vec<Vec<u32>>,
}

impl Generator<'_> {
    fn small_block(&mut self) -> Block {
        let id = self.id();
        let retry = self.retry_policy();
        vec![Node { id, kind: NodeKind::Effect { retry, handler: None } }]
    }

    fn block(&mut self, depth: u32) -> Block {
        let mut block = Vec::new();
        self.trail.push(Vec::new());
        let length = if depth == 0 { 8 } else { 1 + self.rng.small(3) };
        while (block.len() as u64) < u64::from(length) && self.budget > 0 {
            self.budget -= 1;
            let node = self.node(depth);
            let last = node.is_last();
            block.push(node);
            if last {
                break;
            }
        }
        self.trail.pop();
        block
    }

    fn id(&mut self) -> u32 {
        self.last_id += 1;
        self.last_id
    }

    fn node(&mut self, depth: u32) -> Node {
        let id = self.id();
        if let Some(block) = self.trail.last_mut() {
            block.push(id);
        }
        let deep = depth >= 4;
        let kind = match self.rng.below(100) {
            0..6 => NodeKind::Count { scope: *self.rng.pick(&self.scopes) },
            6..14 if !deep => {
                let test = self.test();
                NodeKind::If { test, then: self.block(depth + 1), other: self.block(depth + 1) }
            }
            14..26 if !deep => self.parallel(id, depth),
            26..34 if !deep => self.each(id, depth),
            34..40 if !deep => {
                let (test, cap) = (self.test(), 1 + self.rng.small(3));
                NodeKind::While { test, cap, body: self.framed(id, depth) }
            }
            40..49 if !deep => self.attempt(id, depth),
            49..53 => self.back(),
            53..55 => self.break_out(),
            55..59 => NodeKind::Sleep { delay_ms: self.rng.below(3_000) },
            59..64 => self.signal(),
            64..69 => self.request(),
            69 if depth > 0 => NodeKind::Finish { status: *self.rng.pick(&[Status::Completed, Status::Failed]) },
            70 | 71 if depth > 0 => NodeKind::Fail,
            72 | 73 if depth > 0 => NodeKind::Blocked,
            _ => self.effect(depth),
        };
        Node { id, kind }
    }

    fn effect(&mut self, depth: u32) -> NodeKind {
        let retry = self.retry_policy();
        NodeKind::Effect { retry, handler: self.handler(depth) }
    }

    fn handler(&mut self, depth: u32) -> Option<Block> {
        (depth < 4 && self.rng.percent(35)).then(|| self.block(depth + 1))
    }

    fn retry_policy(&mut self) -> Option<RetryPolicy> {
        let delay_ms = *self.rng.pick(&[0, 10, 100, 700]);
        let policy = RetryPolicy { attempts: 1 + self.rng.small(3), delay_ms, linear: self.rng.percent(50) };
        self.rng.percent(45).then_some(policy)
    }

    fn framed(&mut self, id: u32, depth: u32) -> Block {
        self.scopes.push(id);
        let block = self.block(depth + 1);
        self.scopes.pop();
        block
    }

    fn gather(&mut self) -> Gather {
        let first = self.rng.percent(35).then(|| 1 + self.rng.small(3));
        let width = if self.rng.percent(50) { 1 + self.rng.small(2) } else { 0 };
        Gather { first, keep: self.rng.percent(50), width }
    }

    fn parallel(&mut self, id: u32, depth: u32) -> NodeKind {
        let branches = (0..2 + self.rng.index(2)).map(|_| self.framed(id, depth)).collect();
        NodeKind::Parallel { branches, gather: self.gather(), handler: self.handler(depth) }
    }

    fn each(&mut self, id: u32, depth: u32) -> NodeKind {
        let items = (0..self.rng.index(5)).map(|_| self.rng.int(5)).collect();
        let body = self.framed(id, depth);
        NodeKind::Each { items, body, gather: self.gather(), handler: self.handler(depth) }
    }

    fn attempt(&mut self, id: u32, depth: u32) -> NodeKind {
        let body = self.framed(id, depth);
        let limit_ms = self.rng.percent(60).then(|| self.rng.below(4_000));
        NodeKind::Try { body, limit_ms, retry: self.retry_policy(), handler: self.handler(depth) }
    }

    fn test(&mut self) -> Test {
        if self.rng.percent(60) {
            return Test::Below { scope: *self.rng.pick(&self.scopes), bound: 1 + self.rng.int(3) };
        }
        Test::Last(self.rng.int(4))
    }

    fn back(&mut self) -> NodeKind {
        let mut targets: Vec<u32> = self.trail.iter().flatten().copied().collect();
        // A jump to itself is excluded.
        targets.pop();
        if targets.is_empty() || self.jumps_left == 0 {
            return NodeKind::Count { scope: *self.rng.pick(&self.scopes) };
        }
        self.jumps_left -= 1;
        NodeKind::Back { target: *self.rng.pick(&targets), max: 1 + self.rng.small(2) }
    }

    fn break_out(&mut self) -> NodeKind {
        if self.scopes.len() < 2 {
            return NodeKind::Sleep { delay_ms: self.rng.below(500) };
        }
        let scope = self.scopes[1 + self.rng.index(self.scopes.len() - 1)];
        NodeKind::Break { scope }
    }

    fn signal(&mut self) -> NodeKind {
        let limit_ms = self.rng.percent(50).then(|| self.rng.below(5_000));
        NodeKind::Signal { keep: self.rng.percent(50), picky: self.rng.percent(40), limit_ms }
    }

    fn request(&mut self) -> NodeKind {
        let rules = self.approval_rules();
        let people = 1 + self.rng.small(3);
        NodeKind::Request {
            people,
            required: 1 + self.rng.small(people),
            timeout_ms: self.rng.percent(60).then(|| self.rng.below(6_000)),
            reminder_ms: self.rng.percent(40).then(|| 1 + self.rng.below(2_000)),
            expired: self.rng.percent(30),
            rules,
        }
    }

    /// Draws the rules of a request, some of which cannot be opened. They have random numbers of their own, so that trees of earlier
    /// versions stay as they are otherwise.
    fn approval_rules(&self) -> Option<Box<ApprovalRules>> {
        let mut rng = Rng::new(self.rng.clone().draw() ^ 0x0a99_0f41);
        if rng.percent(50) {
            return None;
        }
        let mut group = || (0..6).filter(|_| rng.percent(50)).collect::<Vec<u32>>();
        let groups = [group(), group()];
        let most = |group: usize| u32::try_from(groups[group].len()).expect("groups are small");
        let needed = if rng.percent(90) {
            [most(0), most(1)].map(|most| rng.small(most.clamp(1, 2) + 1).min(most))
        } else {
            [1, 2]
        };
        let need = if needed == [0, 0] { None } else { Some(needed) };
        Some(Box::new(ApprovalRules {
            need: need.filter(|_| rng.percent(60)),
            veto: if rng.percent(20) { vec![rng.small(6)] } else { Vec::new() },
            veto_group: if rng.percent(15) { Some(rng.index(2)) } else { None },
            excluded: if rng.percent(25) { Some(rng.small(6)) } else { None },
            escalation: if rng.percent(40) { Some((rng.below(4_000), vec![rng.small(8), rng.small(8)])) } else { None },
            end_early: rng.percent(50),
            form: if rng.percent(50) { Some(rng.int(10)) } else { None },
            groups,
        }))
    }
}

/// Adds merges and joins to a tree. Those that would wait for each other are omitted.
fn with_merges(mut tree: Tree, mut last_id: u32, rng: &mut Rng) -> Tree {
    for _ in 0..rng.index(3) {
        let mut scopes = Vec::new();
        parallels(&tree.body, &mut vec![0], &mut scopes);
        if scopes.is_empty() {
            break;
        }
        let around = rng.pick(&scopes).clone();
        let inner = *around.last().expect("a parallel is around itself");
        let owner = if rng.percent(70) { inner } else { *rng.pick(&around) };
        let mut extended = tree.clone();
        let joins = 1 + rng.small(3);
        let merge = last_id + 1;
        last_id += 1 + joins;
        insert(&mut extended, inner, Node { id: merge, kind: NodeKind::Merge { owner, own: rng.percent(60) } }, rng);
        for join in 1..=joins {
            insert(&mut extended, inner, Node { id: merge + join, kind: NodeKind::Join { merge } }, rng);
        }
        if lower(&extended).is_ok() {
            tree = extended;
        }
    }
    tree
}

/// For each parallel, the enclosing scopes and itself.
fn parallels(block: &[Node], around: &mut Vec<u32>, scopes: &mut Vec<Vec<u32>>) {
    for node in block {
        let scope = node.is_scope();
        for inner in node.blocks() {
            let framed = scope && node.framed().iter().any(|framed| std::ptr::eq(*framed, inner));
            if framed {
                around.push(node.id);
            }
            parallels(inner, around, scopes);
            if framed {
                around.pop();
            }
        }
        if let NodeKind::Parallel { .. } = node.kind {
            scopes.push(around.iter().copied().chain([node.id]).collect());
        }
    }
}

/// Inserts a node at a random position in a parallel.
fn insert(tree: &mut Tree, scope: u32, node: Node, rng: &mut Rng) {
    let mut node = Some(node);
    visit(&mut tree.body, &mut |candidate| {
        if candidate.id == scope
            && let NodeKind::Parallel { branches, .. } = &mut candidate.kind
            && let Some(node) = node.take()
        {
            let branch = rng.index(branches.len());
            into_block(&mut branches[branch], node, rng);
        }
    });
}

fn visit(block: &mut Block, change: &mut impl FnMut(&mut Node)) {
    for node in block {
        change(node);
        node.blocks_mut().into_iter().for_each(|inner| visit(inner, change));
    }
}

fn into_block(block: &mut Block, node: Node, rng: &mut Rng) {
    if rng.percent(55) {
        let mut inner: Vec<&mut Block> = block.iter_mut().flat_map(Node::blocks_mut).collect();
        if !inner.is_empty() {
            let chosen = rng.index(inner.len());
            return into_block(inner[chosen], node, rng);
        }
    }
    // Nothing can follow a node that ends the block.
    let end = block.iter().position(Node::is_last).unwrap_or(block.len());
    block.insert(rng.index(end + 1), node);
}
