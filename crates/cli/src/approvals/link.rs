//! Creates signed links to approvals.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use branchpoint_backend::{BackendError, OpenApproval};
use branchpoint_core::ApprovalKey;
use branchpoint_expr::Value;
use branchpoint_server::{Access, ApprovalLink, MAX_LINK_MS, log_command};

use super::find;
use crate::project::StoreArguments;
use crate::store_access::StoreAccess;
use crate::{json, terminal, time};

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A run with one open approval, RUN/N or RUN/STEP
    approval: String,

    /// Approver who votes with the link
    #[arg(long, value_name = "USER")]
    user: String,

    /// Address of the server
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,

    /// Lifetime, at most 30d
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = time::parse_duration_ms)]
    expires: i64,
}

pub(super) fn run(opened: &StoreAccess, store: &StoreArguments, arguments: &Arguments, json: bool) -> Result<ExitCode> {
    if opened.is_server() {
        bail!(BackendError::Unsupported("a signed link"));
    }
    let Arguments { approval, user, url, expires } = arguments;
    let (open, now_ms) = (find::by_name(opened, approval)?, time::now_ms());
    if *expires > MAX_LINK_MS {
        bail!("a link is valid for at most 30 days");
    }
    if !open.approval.awaits(user, now_ms) {
        let approvers = open.approval.missing_voters().join(", ");
        bail!("`{approval}` does not wait for {user} (it waits for: {approvers})");
    }
    let Some(link) = link_to(&open, user, now_ms.saturating_add(*expires)) else {
        bail!("the first answer of anyone settles `{approval}`, so there are no links to it");
    };
    let access = Access::of_store(&opened.project.store_path(store)?);
    let command = format!("approvals link {approval} for {user}");
    log_command(&opened.project.store_path(store)?, &opened.project.user(None), &command)
        .context("the audit log cannot be written")?;
    let url = format!("{}/a/{}", url.trim_end_matches('/'), access.sign_link(&link, now_ms)?);
    if json {
        let fields = [("user", Value::from(user.as_str())), ("link", Value::from(url))];
        return terminal::print_json(&json::object(fields));
    }
    terminal::print(&format!("{url}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The link of a user to a request; none to other approvals.
pub(crate) fn link_to(open: &OpenApproval, user: &str, expires_ms: i64) -> Option<ApprovalLink> {
    let ApprovalKey::Request(request) = &open.approval.key else { return None };
    let (run, user, requested_ms) = (open.id.clone(), user.to_owned(), open.requested_ms);
    Some(ApprovalLink { run, number: request.0, requested_ms, user, expires_ms })
}
