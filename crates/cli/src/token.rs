//! `branchpoint token`: who may use a server of this store.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use branchpoint_expr::Value;
use branchpoint_server::{Access, Credential, CredentialKind, NewCredential, Pattern, Role, log_command};

use crate::project::{Project, StoreArguments, StoreCommand};
use crate::table::table;
use crate::{json, terminal, time};

/// Manage the tokens and sign-in links of a server
#[derive(clap::Args)]
#[command(long_about = terminal::page(include_str!("token.txt")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: StoreCommand,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create a token and print it, once
    Create(Create),
    /// Create a link that signs a browser in, once
    Link(Link),
    /// List tokens, links and signed-in browsers
    List,
    /// Revoke a token, a link or a signed-in browser
    Revoke {
        /// Id, as shown by `token list`
        id: String,
    },
    /// Make the links of approval mails invalid
    RevokeLinks {
        /// Only the links of this user
        #[arg(long, value_name = "USER")]
        user: Option<String>,
    },
    /// Sign new links of approval mails with a new key
    RotateLinkKey,
}

#[derive(clap::Args)]
struct Owner {
    /// User who acts with it [default: you]
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// Permissions: viewer, operator, approver, editor or admin
    #[arg(long, value_name = "ROLE", default_value = "viewer")]
    role: Role,

    /// Workflows, such as 'support-*'; can be repeated [default: all]
    #[arg(long = "workflow", value_name = "PATTERN")]
    workflows: Vec<Pattern>,
}

#[derive(clap::Args)]
struct Create {
    #[command(flatten)]
    owner: Owner,

    /// Lifetime, such as 12h or 90d [default: no end]
    #[arg(long, value_name = "TIME", value_parser = time::parse_duration_ms)]
    expires: Option<i64>,
}

#[derive(clap::Args)]
struct Link {
    #[command(flatten)]
    owner: Owner,

    /// Address of the server
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,

    /// Lifetime, such as 10m
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time::parse_duration_ms)]
    expires: i64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let project = Project::find()?;
    let access = access(&project, &arguments.on.store)?;
    let json = arguments.on.json;
    let store = project.store_path(&arguments.on.store)?;
    let log =
        |command: String| log_command(&store, &project.user(None), &command).context("the audit log cannot be written");
    match &arguments.command {
        Command::Create(create) => {
            let expires_ms = create.expires.map(|expires| time::now_ms().saturating_add(expires));
            let (credential, token) = new(&project, &access, &create.owner, CredentialKind::Token, expires_ms)?;
            log(format!("token create {} for {} ({})", credential.id, credential.user, credential.role))?;
            print_new(&credential, "token", &token, json)?;
        }
        Command::Link(link) => {
            let expires_ms = Some(time::now_ms().saturating_add(link.expires));
            let (credential, code) = new(&project, &access, &link.owner, CredentialKind::Link, expires_ms)?;
            let url = format!("{}/sign-in?code={code}", link.url.trim_end_matches('/'));
            log(format!("token link {} for {} ({})", credential.id, credential.user, credential.role))?;
            print_new(&credential, "link", &url, json)?;
        }
        Command::List => list(&access, json)?,
        Command::Revoke { id } => {
            access.revoke(id, time::now_ms())?;
            log(format!("token revoke {id}"))?;
            terminal::message(&format!("Revoked `{id}`.\n"));
        }
        Command::RevokeLinks { user } => {
            access.revoke_links(user.as_deref(), time::now_ms())?;
            let whose = user.as_deref().unwrap_or("everybody");
            log(format!("token revoke-links of {whose}"))?;
            terminal::message(&format!("Revoked the approval links of {whose}. New links are valid.\n"));
        }
        Command::RotateLinkKey => {
            access.rotate_link_key(time::now_ms())?;
            log("token rotate-link-key".to_owned())?;
            terminal::message("New links have a new key. Earlier links stay valid until they expire.\n");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn access(project: &Project, store: &StoreArguments) -> Result<Access> {
    let path = project.store_path(store)?;
    if !path.is_file() {
        bail!("there is no store at {}\nhelp: `branchpoint serve --store FILE` creates one", path.display());
    }
    Ok(Access::of_store(&path))
}

fn new(
    project: &Project,
    access: &Access,
    owner: &Owner,
    kind: CredentialKind,
    expires_ms: Option<i64>,
) -> Result<(Credential, String)> {
    let workflows = if owner.workflows.is_empty() { vec![Pattern::all()] } else { owner.workflows.clone() };
    let user = project.user(owner.user.as_deref());
    let new = NewCredential { kind, user, role: owner.role, workflows, expires_ms, issued_by: None };
    Ok(access.create(new, time::now_ms())?)
}

fn print_new(credential: &Credential, name: &str, text: &str, json: bool) -> Result<()> {
    if json {
        let fields = [("id", Value::from(credential.id.as_str())), (name, Value::from(text))];
        return terminal::print_json(&json::object(fields)).map(drop);
    }
    terminal::print(&format!("{text}\n"))?;
    terminal::message(&format!(
        "Created `{}` for {} ({}). It is shown only now.\n",
        credential.id, credential.user, credential.role
    ));
    Ok(())
}

fn kind(credential: &Credential) -> &'static str {
    match credential.kind {
        CredentialKind::Token => "token",
        CredentialKind::Link => "link",
        CredentialKind::Browser => "browser",
    }
}

fn patterns(credential: &Credential) -> String {
    credential.workflows.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn list(access: &Access, json: bool) -> Result<()> {
    let (listed, used_ms) = (access.list(time::now_ms())?, access.last_used_ms());
    if json {
        let rows = listed.iter().map(|credential| {
            json::object([
                ("id", Value::from(credential.id.as_str())),
                ("kind", Value::from(kind(credential))),
                ("user", Value::from(credential.user.as_str())),
                ("role", Value::from(credential.role.to_string())),
                ("workflows", Value::from(patterns(credential))),
                ("created", time::to_iso(credential.created_ms)),
                ("expires", credential.expires_ms.map_or(Value::Null, time::to_iso)),
                ("last_used", used_ms.get(&credential.id).copied().map_or(Value::Null, time::to_iso)),
            ])
        });
        return terminal::print_json(&Value::from(rows.collect::<Vec<_>>())).map(drop);
    }
    if listed.is_empty() {
        terminal::message("There are no tokens. `branchpoint token create` creates one.\n");
        return Ok(());
    }
    let rows: Vec<[String; 7]> = listed
        .iter()
        .map(|credential| {
            let expires = credential.expires_ms.map_or("never".to_owned(), time::local);
            let used = used_ms.get(&credential.id).copied().map_or("never".to_owned(), time::local);
            let (id, user) = (credential.id.clone(), credential.user.clone());
            [id, kind(credential).to_owned(), user, credential.role.to_string(), patterns(credential), expires, used]
        })
        .collect();
    terminal::print_styled(&table(["ID", "KIND", "USER", "ROLE", "WORKFLOWS", "EXPIRES", "LAST USED"], &rows))
}
