//! Whether two programs have the same meaning, whatever the texts of their documents look like.

use super::Program;
use crate::codec;

impl Program {
    /// The program without positions and texts of its document, which only explanations use.
    ///
    /// ```
    /// let program = branchpoint_core::ir::builder::Builder::sample();
    /// assert!(program.without_source().steps.iter().all(|step| step.origin == (0, 0)));
    /// ```
    #[must_use]
    pub fn without_source(&self) -> Self {
        let mut program = self.clone();
        program.exprs = program.exprs.into_iter().map(branchpoint_expr::Expression::without_source).collect();
        program.conditions = program.conditions.into_iter().map(branchpoint_expr::Condition::without_source).collect();
        for step in &mut program.steps {
            step.origin = (0, 0);
        }
        for branch in program.decisions.iter_mut().flat_map(|decision| &mut decision.branches) {
            (branch.position, branch.text) = (None, None);
        }
        program
    }

    /// Whether another program does the same in every run: both differ at most in positions and texts of their documents.
    ///
    /// ```
    /// let program = branchpoint_core::ir::builder::Builder::sample();
    /// assert!(program.has_meaning_of(&program.without_source()));
    /// ```
    pub fn has_meaning_of(&self, other: &Self) -> bool {
        let bytes = |program: &Self| codec::encode_program(&program.without_source());
        matches!((bytes(self), bytes(other)), (Ok(left), Ok(right)) if left == right)
    }
}
