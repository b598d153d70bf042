//! The block `mcp_proxy` of agents: tools of MCP servers.

use std::collections::BTreeSet;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Kind, Located};

use super::{Findings, Text};
use crate::fields::Access;

/// The provider that gets its tools in the request.
const IN_REQUEST: &str = "openai_compatible";

/// Providers whose own tools stay available in the original, too, with a warning.
const KEEP_OWN: [&str; 3] = ["codex", "opencode", "github_copilot"];

/// The tools that the block of an agent offers, by server and name. Unsupported fields are reported.
pub(super) fn tools(agent: &Located, findings: &mut Findings) -> Vec<String> {
    let Some(proxy) = agent.given("mcp_proxy").filter(|proxy| proxy.flag("enable") == Some(true)) else {
        return Vec::new();
    };
    let provider = agent.word("provider");
    let servers = proxy.list("plugin_tools");
    let replaces = proxy.flag("intercept_builtins").unwrap_or(true);
    let mut refuse = |kind: Kind, message: String, help: &str| {
        findings.error(kind, proxy.span, message).help = Some(help.into());
    };
    if replaces && servers.is_empty() && KEEP_OWN.contains(&&*provider) {
        let message = format!("calls of the own tools of `{provider}` are not intercepted");
        findings.warn(Kind::Unsupported, proxy.span, message).help =
            Some("remove `mcp_proxy`; it has no effect here".into());
    } else if replaces {
        let message = "`mcp_proxy` cannot replace the agent's own tools".to_owned();
        refuse(Kind::Unsupported, message, "set `intercept_builtins: false`, or remove the block");
    } else if servers.is_empty() {
        let message =
            "`mcp_proxy` has no `plugin_tools` and keeps the agent's own tools, so it offers nothing".to_owned();
        refuse(Kind::BadValue, message, "add `plugin_tools`, or remove the block");
    } else if provider != IN_REQUEST || agent.word("mode") == "conversation" {
        let message =
            format!("`mcp_proxy.plugin_tools` is only supported for `provider: {IN_REQUEST}` and `mode: single`");
        refuse(
            Kind::Unsupported,
            message,
            "configure the MCP servers in the agent program itself, or change the provider",
        );
    } else {
        check_names(servers, findings);
        return servers.iter().flat_map(of_server).collect();
    }
    Vec::new()
}

fn check_names(servers: &[Located], findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for server in servers.iter().filter_map(|server| server.filled("plugin")) {
        if !seen.insert(server.text().clone()) {
            let message = format!("`mcp_proxy.plugin_tools` names `{}` twice", server.text());
            findings.error(Kind::BadValue, server.span(), message).help =
                Some("list all tools of a server in one entry".into());
        }
    }
}

fn of_server(server: &Located) -> Vec<String> {
    let named = |tool: &Text| Some(format!("{}.{}", server.filled("plugin")?.text(), tool.text()));
    server.texts("expose").unwrap_or_default().iter().filter_map(named).collect()
}
