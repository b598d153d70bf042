//! `branchpoint serve`: the HTTP API and a worker over one store, until a signal.

mod content;
mod reload;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use branchpoint_runners::operator_client;
use branchpoint_server::{DefaultScripts, Host, Settings, TextFeed, Webhook, Webhooks, serve_until};
use tempfile::TempDir;

use crate::backend::{self, Driving};
use crate::check::RunnerCheck;
use crate::exit::Exit;
use crate::local_runner::{self, LocalRunner, OutputListeners};
use crate::notices::Waker;
use crate::project::{Project, Reach, StoreArguments};
use crate::{interrupt, numbers, terminal};

/// Serve the HTTP API over a store
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("about.txt")),
    after_long_help = terminal::page(include_str!("after.txt")),
)]
pub(crate) struct Arguments {
    /// Examples and a temporary store, which is removed at the end
    #[arg(long, conflicts_with_all = ["store", "durability"])]
    demo: bool,

    #[command(flatten)]
    listen: Listen,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    store: StoreArguments,
}

/// Where a server listens, for every command that starts one.
#[derive(clap::Args)]
pub(crate) struct Listen {
    /// Address to listen on; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = numbers::address)]
    listen: SocketAddr,

    /// Path below which everything is served, behind a proxy
    #[arg(long, value_name = "PATH", default_value = "", value_parser = base_path)]
    base_path: String,

    /// Host name that clients may use besides localhost; can be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// Demand a token or a sign-in link; always so beyond this machine
    #[arg(long)]
    require_sign_in: bool,

    /// Trust the `Forwarded` header of the proxy in front
    #[arg(long)]
    behind_proxy: bool,

    /// Maximum number of concurrent calls
    #[arg(long, value_name = "N", value_parser = numbers::positive)]
    calls: Option<u32>,

    /// Seconds that requests and calls in flight have to end on shutdown
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = numbers::seconds)]
    grace: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let project = Project::find()?.reaching(arguments.reach);
    let place = if arguments.demo { Place::temporary()? } else { place(&project, &arguments.store)? };
    serve(&project, &place, &arguments.listen, None)
}

/// The store of a server that was not started with `--demo`.
pub(crate) fn place(project: &Project, store: &StoreArguments) -> Result<Place> {
    if is_configured(project, store)? { Ok(Place::Store(store.clone())) } else { Place::temporary() }
}

/// Whether there is a project, a chosen store, or the default store of earlier commands.
fn is_configured(project: &Project, store: &StoreArguments) -> Result<bool> {
    Ok(store.file().is_some() || Project::find_configured()?.is_some() || project.store_path(store)?.is_file())
}

/// The store of a server.
pub(crate) enum Place {
    Store(StoreArguments),
    /// A store in a folder that is removed at the end.
    Temporary(TempDir),
}

impl Place {
    fn temporary() -> Result<Self> {
        let folder = TempDir::with_prefix("branchpoint-").context("cannot create a temporary store")?;
        Ok(Self::Temporary(folder))
    }

    fn store(&self) -> StoreArguments {
        match self {
            Self::Store(arguments) => arguments.clone(),
            Self::Temporary(folder) => {
                let (store, durability) = (Some(folder.path().join("store.db")), Some("normal".into()));
                StoreArguments { store, durability, server: None }
            }
        }
    }
}

/// Serves until Ctrl-C or SIGTERM. With a folder, its workflows are served, and loaded again when they change.
pub(crate) fn serve(project: &Project, place: &Place, listen: &Listen, folder: Option<&Path>) -> Result<ExitCode> {
    let store = place.store();
    let texts = TextFeed::default();
    let listeners = OutputListeners { words: texts.listener(), ..OutputListeners::of(|_| {}) };
    let runner = Arc::new(LocalRunner::for_worker(project, &store, listeners)?);
    let mut driving = Driving::here(&runner, project);
    if let Some(calls) = listen.calls {
        driving.limits.calls = usize::try_from(calls)?;
    }
    let waker = Arc::clone(&driving.waker);
    let backend = backend::drive(project, &store, "serve", &runner, driving)?;
    backend.drive_all()?;
    let scripts = DefaultScripts::default();
    if let Some(folder) = folder {
        reload::start(folder, backend.handle()?, scripts.clone())?;
    }
    let user = project.user(None);
    let mut host = Host::new(backend, &user).with_account(local_runner::account(project, &user)).with_texts(texts);
    let path = project.store_path(&store)?;
    host = host.with_access(&path).with_permissions(project.permissions()).with_webhooks(webhooks(project, waker));
    if let Some(oidc) = &project.oidc {
        let client = operator_client().map_err(Exit::system)?;
        host = host.with_oidc(oidc.settings(&project.secret_store(&store)?)?, client);
    }
    host = host.with_own_secrets(project.has_own_secret()?).with_providers(Box::new(runner.models().clone()));
    if let Some(check) = RunnerCheck::find()? {
        host = host.with_runner_check(Arc::new(move |program, text| check.findings(program, text)));
    }
    match (folder, place) {
        (Some(_), _) => host = host.with_default_scripts(scripts),
        (None, Place::Temporary(_)) => host = host.with_examples(content::examples()),
        (None, Place::Store(_)) => {}
    }
    let token = interrupt::cancellation_token()?;
    let is_temporary = matches!(place, Place::Temporary(_));
    serve_until(host, content::CONTENT, listen.settings(), &token, |address| {
        announce(address, listen, is_temporary && folder.is_none(), &path);
    })
    .map_err(|error| Exit::system(cannot_serve(listen.listen, &error)))?;
    Ok(ExitCode::SUCCESS)
}

fn cannot_serve(address: SocketAddr, error: &io::Error) -> String {
    let help = match error.kind() {
        io::ErrorKind::AddrInUse => "another program uses this port; choose another one with --listen",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address; choose another one with --listen",
        io::ErrorKind::PermissionDenied => "ports below 1024 need more rights; choose another one with --listen",
        _ => return format!("cannot serve on {address}: {error}"),
    };
    format!("cannot serve on {address}: {error}\nhelp: {help}")
}

/// The webhooks of a project, which a test wakes.
fn webhooks(project: &Project, waker: Arc<OnceLock<Waker>>) -> Webhooks {
    let configured = project.webhooks.iter().map(Webhook::from).collect();
    Webhooks { configured, wake: Arc::new(move || waker.get().into_iter().for_each(Waker::wake)) }
}

fn announce(address: SocketAddr, listen: &Listen, has_examples: bool, store: &Path) {
    let store = if has_examples {
        "Examples in a temporary store, which is removed at the end. Use --store FILE to keep runs.".to_owned()
    } else {
        format!("Store: {}", store.display())
    };
    let sign_in = if listen.requires_sign_in() { "Requests need a token: `branchpoint token create`.\n" } else { "" };
    let page = if content::CONTENT.web.is_empty() {
        "This program was built without the web page. To add it: make web, then build again.\n"
    } else {
        ""
    };
    terminal::message(&format!("Serving http://{address}{}\n{store}\n{sign_in}{page}", listen.base_path));
}

impl Listen {
    /// Callers of an address that other machines can reach must identify themselves.
    fn requires_sign_in(&self) -> bool {
        self.require_sign_in || self.behind_proxy || !self.listen.ip().is_loopback()
    }

    fn settings(&self) -> Settings {
        Settings {
            listen: self.listen,
            base_path: self.base_path.clone(),
            hosts: self.hosts.clone(),
            requires_sign_in: self.requires_sign_in(),
            behind_proxy: self.behind_proxy,
            grace: Duration::from_secs(self.grace),
            ..Settings::default()
        }
    }
}

/// A path such as `/branchpoint`.
fn base_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./~".contains(c);
    if path.is_empty() || path.starts_with('/') && path.chars().all(is_plain) {
        return Ok(path.to_owned());
    }
    Err("a base path begins with `/` and has letters, digits, `-`, `_`, `.`, `~` and `/`".into())
}
