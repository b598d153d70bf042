//! Commands with `--server` print what they print over the store that the server drives, and nothing happens twice.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use regex::Regex;
use serde_json::{Value, json};

use crate::client::{Server, command};
use crate::identity::Guarded;

const ASK: &str = "name: ask\nsteps:\n  - {id: draft, step_type: prompt_call, prompt_template: \"{{input}}\"}\n  \
    - {id: ok, step_type: human_in_the_loop, prompt_template: \"Send {{step.draft.output}}?\", choices: [approve, reject]}\n  \
    - {id: route, step_type: if_else, input_template: \"{{step.ok.output.outcome}}\", \
    conditions: [{target: input, operator: $eq, value: approve}], \
    then_steps: [{id: sent, step_type: text, template: Sent}], else_steps: [{id: held, step_type: text, template: Held}]}\n";

const ASK_SCRIPT: &str = "draft: [\"A draft\"]\n";

const ENDS: &str = "name: ends\nsteps:\n  - {id: draft, step_type: prompt_call, prompt_template: \"{{input}}\"}\n  \
    - {id: shout, step_type: text, template: \"{{step.draft.output}}!\"}\n";

/// A server over a store, in a folder with workflows.
struct Both {
    server: Server,
    folder: tempfile::TempDir,
}

impl Both {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a store");
        for (name, text) in [
            ("ask.yaml", ASK),
            ("ask.script.yaml", ASK_SCRIPT),
            ("ends.yaml", ENDS),
            ("branchpoint.toml", "[people]\nowner = \"ada\"\nmembers = [\"ada\", \"bob\"]\n"),
        ] {
            std::fs::write(folder.path().join(name), text).expect("the folder is writable");
        }
        let server = Server::start_in(folder.path(), &["serve", "--store", "store.db", "--listen", "127.0.0.1:0"]);
        Self { server, folder }
    }

    fn address(&self) -> String {
        format!("http://{}", self.server.address)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn over_store(&self, arguments: &[&str]) -> Printed {
        Printed::of(self.command(arguments).env("BRANCHPOINT_STORE", "store.db"))
    }

    fn over_server(&self, arguments: &[&str]) -> Printed {
        Printed::of(self.command(arguments).env("BRANCHPOINT_SERVER", self.address()))
    }

    /// Starts a run on the server, which answers its calls by the script.
    #[track_caller]
    fn start(&self, workflow: &str, id: &str) {
        let file = format!("{workflow}.yaml");
        let printed =
            self.over_server(&["run", &file, "--script", "ask.script.yaml", "-i", "input=x", "--id", id, "-q"]);
        assert!([Some(0), Some(5)].contains(&printed.code), "{printed:?}");
    }

    /// A command prints the same over the store and over the server.
    #[track_caller]
    fn check(&self, arguments: &[&str]) {
        let (store, server) = (self.over_store(arguments), self.over_server(arguments));
        assert_eq!(server.timeless(), store.timeless(), "{arguments:?}");
    }
}

/// What a command has printed, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Printed {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Printed {
    fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is text");
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// The same without durations, which differ between two commands. Lines about steps show only those that are long enough.
    fn timeless(&self) -> Self {
        let durations = Regex::new(r"(, )?\d+(\.\d+)? (ms|s|min|h|d)\b").expect("a valid pattern");
        let text = |text: &str| durations.replace_all(text, "").into_owned();
        Self { stdout: text(&self.stdout), stderr: text(&self.stderr), ..self.clone() }
    }

    /// The same without times, for two runs.
    fn dateless(&self) -> Self {
        let times = Regex::new(r"\d{4}-\d\d-\d\dT[\d:.]+Z").expect("a valid pattern");
        let text = |text: &str| times.replace_all(text, "").into_owned();
        Self { stdout: text(&self.stdout), stderr: text(&self.stderr), ..self.clone() }
    }

    /// The same with one id in the place of another.
    fn with_id(&self, id: &str, instead: &str) -> Self {
        let text = |text: &str| text.replace(id, instead);
        Self { stdout: text(&self.stdout), stderr: text(&self.stderr), ..self.timeless() }
    }
}

#[test]
fn commands_that_read_print_the_same_over_a_store_and_over_its_server() {
    let both = Both::new();
    both.start("ends", "ended");
    both.start("ask", "waits");
    both.start("ask", "voted");
    assert_eq!(both.over_server(&["approvals", "approve", "voted", "--comment", "fine"]).code, Some(0));
    both.server.until("/runs/voted", |run| run["status"] == "completed");
    let template = both.over_store(&["new", "agent", "--template", "session"]);
    assert_eq!(template.code, Some(0), "{template:?}");
    assert_eq!(both.over_server(&["workflows", "add", "agent.yaml"]).code, Some(0));
    both.server.post("/agents/agent/sessions/s1/messages", &json!({"text": "hello"})).expect(200);
    for arguments in [
        &["runs", "list"][..],
        &["runs", "list", "--json"],
        &["runs", "list", "--all"],
        &["runs", "list", "--status", "waiting_people"],
        &["runs", "list", "--workflow", "ends", "--json"],
        &["runs", "list", "--search", "draft"],
        &["runs", "list", "--limit", "1"],
        &["runs", "show", "ended"],
        &["runs", "show", "ended", "--json"],
        &["runs", "show", "wait"],
        &["runs", "show", "waits", "--json"],
        &["runs", "trace", "voted"],
        &["runs", "trace", "voted", "--json"],
        &["runs", "trace", "voted", "--from", "2"],
        &["runs", "explain", "voted", "route"],
        &["runs", "explain", "voted", "route", "--json"],
        &["runs", "explain", "voted", "ok"],
        &["runs", "explain", "waits", "route"],
        &["runs", "explain", "voted", "route", "--with", "step.ok.output.outcome=reject"],
        &["runs", "watch", "voted"],
        &["runs", "watch", "waits"],
        &["runs", "watch", "ended", "--json"],
        &["approvals", "list"],
        &["approvals", "list", "--json"],
        &["approvals", "list", "--mine"],
        &["approvals", "show", "waits"],
        &["approvals", "show", "waits/ok", "--json"],
        &["sessions", "list"],
        &["sessions", "list", "--json"],
        &["sessions", "show", "s1"],
        &["sessions", "show", "nope"],
        &["workflows", "list"],
        &["workflows", "list", "--json"],
        &["workflows", "show", "ask"],
        &["workflows", "show", "ends", "--json"],
        &["workflows", "show", "nope"],
        &["runs", "show", "nope"],
        &["runs", "show", "e"],
        &["runs", "explain", "voted", "nope"],
        &["runs", "cancel", "ended"],
        &["runs", "resume", "ended"],
        &["runs", "retry", "ended"],
        &["runs", "cancel", "--where", "status=completed", "--dry-run"],
        &["approvals", "approve", "ended"],
        &["approvals", "vote", "waits", "nope"],
    ] {
        both.check(arguments);
    }
}

#[test]
fn commands_that_change_runs_print_the_same_over_a_store_and_over_its_server() {
    let both = Both::new();
    for (number, arguments) in [
        &["approvals", "approve", "RUN", "--comment", "fine"][..],
        &["approvals", "vote", "RUN", "reject"],
        &["approvals", "approve", "RUN", "--json"],
        &["approvals", "cancel", "RUN", "--reason", "old"],
        &["runs", "cancel", "RUN"],
        &["runs", "tag", "RUN", "+nightly", "+acme"],
    ]
    .into_iter()
    .enumerate()
    {
        let ids = [format!("a-{number}"), format!("b-{number}")];
        for id in &ids {
            both.start("ask", id);
        }
        let arguments = |id: &str| arguments.iter().map(|part| part.replace("RUN", id)).collect::<Vec<_>>();
        let parts = ids.each_ref().map(|id| arguments(id));
        let parts = parts.each_ref().map(|parts| parts.iter().map(String::as_str).collect::<Vec<_>>());
        let (store, server) = (both.over_store(&parts[0]), both.over_server(&parts[1]));
        assert_eq!(server.with_id(&ids[1], "RUN"), store.with_id(&ids[0], "RUN"), "{:?}", parts[0]);
    }
    both.check(&["runs", "list", "--json"]);
}

#[test]
fn a_run_on_a_server_prints_what_a_run_here_prints() {
    let both = Both::new();
    for (workflow, options) in [
        ("ends", &[][..]),
        ("ask", &[]),
        ("ask", &["--json"]),
        ("ends", &["--quiet"]),
        ("ends", &["--detach"]),
        ("ends", &["-i", "nope=1"]),
    ] {
        let (file, id) = (format!("{workflow}.yaml"), format!("{workflow}-{}", options.concat().replace('=', "-")));
        let arguments =
            [&["run", &file, "--script", "ask.script.yaml", "-i", "input=x", "--id", &id], options].concat();
        let here = Printed::of(both.command(&arguments).env("BRANCHPOINT_STORE", "other.db"));
        let there = both.over_server(&arguments);
        assert_eq!(there.timeless().dateless(), here.timeless().dateless(), "{arguments:?}");
        // A second start with the same id shows the same run.
        if !options.contains(&"-i") && !options.contains(&"--detach") {
            let here = Printed::of(both.command(&arguments).env("BRANCHPOINT_STORE", "other.db"));
            let there = both.over_server(&arguments);
            assert_eq!(there.timeless().dateless(), here.timeless().dateless(), "{arguments:?}");
        }
    }
}

#[test]
fn the_server_can_be_named_before_the_command() {
    let both = Both::new();
    both.start("ends", "one");
    let address = both.address();
    let (leading, trailing) = (["--server", &*address], ["runs", "list"]);
    let before = Printed::of(&mut both.command(&[leading, trailing].concat()));
    let after = Printed::of(&mut both.command(&[trailing, leading].concat()));
    assert_eq!((before.code, &before.stdout), (Some(0), &after.stdout));
    assert!(before.stdout.contains("one"), "{before:?}");
    let local = Printed::of(&mut both.command(&["--server", &address, "check", "ends.yaml"]));
    assert!(local.code == Some(1) && local.stderr.contains("--server is an option of `run`"), "{local:?}");
}

#[test]
fn a_store_of_the_command_line_is_used_although_the_environment_names_it_and_a_server() {
    let both = Both::new();
    both.start("ends", "one");
    let mut command = both.command(&["doctor", "--store", "store.db"]);
    let printed =
        Printed::of(command.env("BRANCHPOINT_STORE", "store.db").env("BRANCHPOINT_SERVER", "http://127.0.0.1:9"));
    assert_eq!(printed.code, Some(0), "{printed:?}");
}

#[test]
fn what_a_server_does_not_offer_is_an_error() {
    let both = Both::new();
    both.start("ask", "waits");
    for arguments in [
        &["runs", "export", "waits"][..],
        &["runs", "migrate", "--to", "ask.yaml", "waits"],
        &["runs", "fork", "waits", "--with", "ask.yaml"],
        &["approvals", "link", "waits", "--user", "ada"],
        &["run", "ends.yaml", "--record", "r.yaml"],
        &["prune", "--older-than", "30d"],
        &["chats", "list"],
    ] {
        let printed = both.over_server(arguments);
        assert!(printed.code != Some(0), "{arguments:?} {printed:?}");
        assert!(printed.stderr.contains("not available over"), "{arguments:?} {printed:?}");
    }
    let printed = both.over_server(&["approvals", "approve", "waits", "--as", "bob"]);
    assert!(printed.stderr.contains("the server knows you as ada"), "{printed:?}");
    let both_places = both.over_server(&["runs", "list", "--server", &both.address(), "--store", "store.db"]);
    assert!(both_places.stderr.contains("cannot be used together"), "{both_places:?}");
    // An option of the command line is used before the environment.
    let printed = both.over_server(&["runs", "list", "--store", "other.db"]);
    assert!(printed.stderr.contains("there is no store at other.db"), "{printed:?}");
    let unencrypted = Printed::of(&mut both.command(&["runs", "list", "--server", "http://flows.example"]));
    assert!(unencrypted.stderr.contains("--allow-http"), "{unencrypted:?}");
}

#[test]
fn the_token_comes_from_the_environment_and_is_never_shown() {
    let guarded = Guarded::new();
    let address = format!("http://{}", guarded.server.address);
    let list = |token: Option<&str>| {
        let mut command = command(&["runs", "list", "--server", &address]);
        if let Some(token) = token {
            command.env("BRANCHPOINT_TOKEN", token);
        }
        Printed::of(&mut command)
    };
    let none = list(None);
    assert!(none.code != Some(0) && none.stderr.contains("needs a token"), "{none:?}");
    let wrong = list(Some("bp_000000000000_canary5ecret"));
    assert!(wrong.code != Some(0) && wrong.stderr.contains("rejected the token of BRANCHPOINT_TOKEN"), "{wrong:?}");
    assert!(!wrong.stderr.contains("canary"), "{wrong:?}");
    let viewer = guarded.token(&["create", "--user", "eve", "--role", "viewer"]);
    assert_eq!(list(Some(&viewer)).code, Some(0));
    let mut cancel = command(&["runs", "cancel", "--where", "status=running", "--yes", "--server", &address]);
    let printed = Printed::of(cancel.env("BRANCHPOINT_TOKEN", &viewer));
    assert!(!printed.stderr.contains(&viewer) && !printed.stdout.contains(&viewer), "{printed:?}");
}

#[test]
fn secrets_of_runs_never_leave_the_server() {
    let both = Both::new();
    let text = ENDS.replace("name: ends", "name: secret");
    both.server.post("/workflows", &json!({"text": text})).expect(201);
    let inputs = json!({"input": "x", "metadata": {"api_key": "canary-5ecret"}});
    let start = json!({"workflow": "secret", "id": "secret", "inputs": inputs, "script": {"draft": ["canary-5ecret"]}});
    both.server.post("/runs?wait=30s", &start).expect(200);
    for request in ["state", "journal", "script", "recording", "approval_records"] {
        let run = both.server.post("/read", &json!({"read": "run", "id": "secret"})).expect(200)["run"].clone();
        let mut body = json!({"read": request, "run": run});
        if request == "journal" {
            body["after"] = json!(0);
        }
        let response = both.server.post("/read", &body);
        assert_eq!(response.status, 200, "{request}: {}", response.text);
        assert!(!decoded(&response.json()).contains("canary-5ecret"), "{request}");
    }
    for arguments in [&["runs", "show", "secret", "--json"][..], &["runs", "trace", "secret", "--json"]] {
        both.check(arguments);
        assert!(!both.over_server(arguments).stdout.contains("canary-5ecret"));
    }
}

/// All texts of a value, those in Base64 decoded.
fn decoded(value: &Value) -> String {
    use base64::Engine as _;
    match value {
        Value::String(text) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default();
            format!("{text} {}", String::from_utf8_lossy(&bytes))
        }
        Value::Array(items) => items.iter().map(decoded).collect(),
        Value::Object(fields) => fields.values().map(decoded).collect(),
        other => other.to_string(),
    }
}

#[test]
fn a_caller_reads_only_runs_of_workflows_that_they_may_read() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--role", "admin"]);
    for name in ["open-a", "closed"] {
        guarded.with(&admin, "POST", "/workflows", &json!({"text": ENDS, "name": name})).expect(201);
        let start = json!({"workflow": name, "id": format!("run-{name}"), "script": {"draft": ["x"]}});
        guarded.with(&admin, "POST", "/runs?wait=30s", &start).expect(200);
    }
    let viewer = guarded.token(&["create", "--user", "eve", "--role", "viewer", "--workflow", "open-*"]);
    let read = |token: &str, request: &Value| guarded.with(token, "POST", "/read", request);
    let closed = read(&admin, &json!({"read": "run", "id": "run-closed"})).expect(200);
    assert_eq!(read(&viewer, &json!({"read": "run", "id": "run-closed"})).expect(200), Value::Null);
    assert_eq!(read(&viewer, &json!({"read": "find_runs", "part": "run-"})).expect(200).as_array().unwrap().len(), 1);
    assert_eq!(read(&viewer, &json!({"read": "runs", "filter": {}})).expect(200).as_array().unwrap().len(), 1);
    assert_eq!(read(&viewer, &json!({"read": "workflows"})).expect(200).as_array().unwrap().len(), 1);
    for request in ["row", "status", "state", "script", "approvals"] {
        let response = read(&viewer, &json!({"read": request, "run": closed["run"]}));
        assert_eq!(response.problem(404), "not_found", "{request}");
    }
    let document = read(&viewer, &json!({"read": "document", "workflow": closed["workflow"]}));
    assert_eq!(document.problem(404), "not_found");
    assert_eq!(read(&viewer, &json!({"read": "nope"})).problem(422), "invalid_input");
}

/// Forwards requests to a server, one on each connection.
struct Proxy {
    address: String,
    /// The beginning of a request whose response is lost, once.
    lost: Arc<AtomicBool>,
    /// Whether nothing is forwarded.
    is_down: Arc<AtomicBool>,
    /// The number of streams that continued after an event.
    continued: Arc<AtomicUsize>,
}

impl Proxy {
    fn of(server: &Server, losing: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it listens").to_string();
        let proxy = Self { address, lost: Arc::default(), is_down: Arc::default(), continued: Arc::default() };
        let (to, lost, is_down, continued) =
            (server.address.clone(), Arc::clone(&proxy.lost), Arc::clone(&proxy.is_down), Arc::clone(&proxy.continued));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_down.load(Ordering::Acquire) {
                    continue;
                }
                let (to, lost, is_down, continued) =
                    (to.clone(), Arc::clone(&lost), Arc::clone(&is_down), Arc::clone(&continued));
                std::thread::spawn(move || {
                    let _ = forward(stream, &to, losing, (&lost, &is_down, &continued));
                });
            }
        });
        proxy
    }
}

fn forward(
    mut client: TcpStream,
    to: &str,
    losing: &str,
    (lost, is_down, continued): (&AtomicBool, &AtomicBool, &AtomicUsize),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head += &line;
    }
    if head.to_lowercase().contains("last-event-id:") {
        continued.fetch_add(1, Ordering::AcqRel);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut server = TcpStream::connect(to)?;
    let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    server.write_all(head.as_bytes())?;
    server.write_all(&body)?;
    if head.starts_with(losing) && !losing.is_empty() && !lost.swap(true, Ordering::AcqRel) {
        // The server handles the request, and its response never arrives.
        let mut response = Vec::new();
        server.read_to_end(&mut response)?;
        return Ok(());
    }
    server.set_read_timeout(Some(std::time::Duration::from_millis(50)))?;
    let mut buffer = [0; 4096];
    while !is_down.load(Ordering::Acquire) {
        match server.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => client.write_all(&buffer[..read])?,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[test]
fn a_lost_response_starts_and_votes_nothing_twice() {
    let both = Both::new();
    let over = |losing: &'static str, arguments: &[&str]| {
        let proxy = Proxy::of(&both.server, losing);
        let address = format!("http://{}", proxy.address);
        let printed = Printed::of(both.command(arguments).env("BRANCHPOINT_SERVER", address));
        assert!(proxy.lost.load(Ordering::Acquire), "{losing} was not sent: {printed:?}");
        printed
    };
    let run = ["run", "ask.yaml", "--script", "ask.script.yaml", "-i", "input=x", "--id", "once"];
    let started = over("POST /api/v1/runs ", &run);
    assert_eq!(started.code, Some(5), "{started:?}");
    assert_eq!(both.server.get("/runs").expect(200)["items"].as_array().unwrap().len(), 1);
    let voted = over("POST /api/v1/approvals/once/", &["approvals", "approve", "once"]);
    assert_eq!(voted.code, Some(0), "{voted:?}");
    assert!(voted.stderr.starts_with("Recorded ada's vote (1 of 1)."), "{voted:?}");
    both.server.until("/runs/once", |run| run["status"] == "completed");
}

#[test]
fn following_continues_after_a_lost_connection_and_ends_when_the_server_is_gone() {
    let both = Both::new();
    both.start("ask", "waits");
    let proxy = Proxy::of(&both.server, "");
    let address = format!("http://{}", proxy.address);
    let watch = |arguments: &[&str]| {
        let mut watch = both.command(arguments);
        watch.env("BRANCHPOINT_SERVER", &address).stdout(Stdio::piped()).stderr(Stdio::piped());
        watch.spawn().expect("the program runs")
    };
    let mut watching = watch(&["runs", "watch", "waits", "--keep"]);
    let mut lines = BufReader::new(watching.stderr.take().expect("stderr is piped")).lines();
    let mut until = |text: &str| lines.by_ref().map(|line| line.expect("text")).find(|line| line.contains(text));
    assert!(until("waiting_people").is_some(), "the status is shown");
    // All connections are closed for a moment.
    proxy.is_down.store(true, Ordering::Release);
    std::thread::sleep(std::time::Duration::from_millis(300));
    proxy.is_down.store(false, Ordering::Release);
    while proxy.continued.load(Ordering::Acquire) == 0 {
        assert!(watching.try_wait().expect("it is a child").is_none(), "the command has ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    both.server.post("/approvals/waits/4/vote", &json!({"choice": "approve"})).expect(200);
    assert!(until("has ended: completed").is_some(), "the end is shown");
    assert_eq!(watching.wait().expect("it ends").code(), Some(0));
    both.start("ask", "left");
    let left = watch(&["runs", "watch", "left", "--keep"]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    proxy.is_down.store(true, Ordering::Release);
    let left = left.wait_with_output().expect("it ends");
    assert!(!left.status.success());
    let message = String::from_utf8_lossy(&left.stderr);
    assert!(message.contains(&format!("the server at {address}")), "{message}");
}

/// A server that responds to every request with this.
fn fake(response: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it listens").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(response.as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn other_versions_redirects_and_other_servers_are_explained() {
    let respond = |status: &str, header: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    };
    let me = |reads: &str| format!(r#"{{"user": "ada", "server": {{"version": "9.9.9"{reads}}}}}"#);
    for (response, expect) in [
        (respond("200 OK", "", &me("")), "is older than this program (server 9.9.9, program"),
        (respond("200 OK", "", &me(r#", "reads": 99"#)), "is newer than this program (server 9.9.9, program"),
        (
            respond("302 Found", "location: https://evil.example/api?x=1\r\n", ""),
            "redirects to https://evil.example/api, which is not followed",
        ),
        (respond("200 OK", "", "<html>"), "is unexpected"),
        (respond("404 Not Found", "", "<html>"), "responded with 404 Not Found, not as a Branchpoint server does"),
    ] {
        let mut list = command(&["runs", "list", "--server", &fake(response)]);
        let printed = Printed::of(list.env("BRANCHPOINT_TOKEN", "bp_1_canary5ecret").current_dir(Path::new(".")));
        assert!(printed.code != Some(0) && printed.stderr.contains(expect), "{expect}: {printed:?}");
        assert!(!printed.stderr.contains("canary"), "{printed:?}");
    }
}
