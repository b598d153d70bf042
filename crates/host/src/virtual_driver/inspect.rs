//! What can be read from a virtual driver: status, result, notes, approvals and journal.

use branchpoint_core::ir::{Status, ViewId};
use branchpoint_core::{Approval, Event, Note, Stamp, State, approvals, status, view};
use branchpoint_expr::Value;

use super::{RequestedApproval, VirtualDriver};
use crate::recordings::History;
use crate::store::Store;

impl VirtualDriver<'_> {
    /// The status of the run.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// assert_eq!(driver.status(), Status::WaitingPeople);
    /// ```
    pub fn status(&self) -> Status {
        status(self.program, self.state())
    }

    /// The result object of a run that has ended.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// assert_eq!(driver.result(), None);
    /// driver.run_until_idle(&mut |_call| Answer::data("hello").into());
    /// assert_eq!(driver.result(), Some(&"hello".into()));
    /// ```
    pub fn result(&self) -> Option<&Value> {
        self.state().result().map(|(_, result)| result)
    }

    /// A view of the run, by name; `None` if there is no such view or it cannot be read.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// assert_eq!(driver.view("names"), None);
    /// ```
    pub fn view(&self, name: &str) -> Option<Value> {
        let id = self.program.views.iter().position(|view| &*view.name == name)?;
        view(self.program, self.state(), ViewId(u32::try_from(id).ok()?)).ok()
    }

    /// All notes in order, unless a listener receives them.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// driver.run_until_idle(&mut |_call| Answer::data("hello").into());
    /// assert!(driver.notes().iter().any(|note| matches!(note.kind, NoteKind::Attempt { .. })));
    /// ```
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// All requests to people in order. Settled ones are not open.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// assert!(driver.requested_approvals()[0].is_open);
    /// ```
    pub fn requested_approvals(&self) -> &[RequestedApproval] {
        &self.requested
    }

    /// The open approvals of the run.
    ///
    /// ```
    #[doc = include_str!("../../docs/approval.txt")]
    /// assert_eq!(&*driver.approvals()[0].step, "ask");
    /// ```
    pub fn approvals(&self) -> Vec<Approval> {
        let specs = self.requested.iter().map(|requested| (requested.request, requested.spec.clone()));
        approvals(self.program, self.state(), &specs.collect())
    }

    /// The state of the run.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// assert_eq!(driver.state().seq(), 1);
    /// ```
    pub fn state(&self) -> &State {
        self.run.and_then(|run| self.host.state(run)).unwrap_or(&self.unloaded_state)
    }

    /// The accepted events of the run.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// driver.run_until_idle(&mut |_call| Answer::data("hello").into());
    /// assert_eq!(driver.journal().len(), 2, "the start and the answer");
    /// ```
    pub fn journal(&self) -> Vec<(Stamp, Event, u32)> {
        self.run.map(|run| self.host.journal(run)).unwrap_or_default()
    }

    /// The store of the run. The host must have one.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// assert!(driver.store().run("run").unwrap().is_some());
    /// ```
    pub fn store(&self) -> &Store {
        self.host.store().expect("the host of the run has a store")
    }

    /// The calls, approvals and signals of the run and its child runs.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// driver.run_until_idle(&mut |_call| Answer::data("hello").into());
    /// assert!(matches!(driver.history().entries[0], HistoryEntry::Call { .. }));
    /// ```
    pub fn history(&self) -> History {
        let history = self.run.map(|run| self.store().history(run));
        history.map_or_else(History::default, |history| history.expect("stored data can be read"))
    }

    /// The virtual time.
    ///
    /// ```
    #[doc = include_str!("../../docs/virtual.txt")]
    /// assert_eq!(driver.now_ms(), 0);
    /// ```
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }
}
