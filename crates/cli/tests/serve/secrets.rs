//! Named secrets: write-only over the API, sealed at rest, for the workflows that may use them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use serde_json::{Value, json};

use crate::client::{Server, command};
use crate::events::Stream;
use crate::identity::Guarded;

/// The value that must appear nowhere.
const CANARY: &str = "canary-S3cret-value-4711";

/// The first step sends the secret; the receiver of both steps responds with it.
const DEPLOY: &str = "name: deploy
steps:
  - {id: login, step_type: http, url: \"http://RECEIVER/login\", headers: {x-token: \"{{secret.DEPLOY_TOKEN}}\"}}
  - {id: leak, step_type: http, url: \"http://RECEIVER/leak\"}
  - {id: words, step_type: text, template: \"{{step.leak.output}}\"}
";

/// Starts a receiver that responds to everything with the last token that it got, and returns its address.
fn receiver() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        let mut token = String::new();
        for stream in listener.incoming().flatten() {
            let mut out = stream.try_clone().expect("a stream has two ends");
            let lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            for line in lines {
                if let Some((name, value)) = line.split_once(": ")
                    && name.eq_ignore_ascii_case("x-token")
                {
                    value.clone_into(&mut token);
                }
            }
            let body = format!("got {token}");
            let _ = write!(out, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
        }
    });
    address
}

fn document() -> String {
    DEPLOY.replace("RECEIVER", &receiver())
}

fn serve(folder: &Path) -> Server {
    let store = folder.join("store.db").to_str().expect("a plain path").to_owned();
    Server::start_in(folder, &["serve", "--store", &store, "--listen", "127.0.0.1:0", "--allow-private-network"])
}

/// A server with a secrets file and without permissions.
fn served(folder: &Path) -> Server {
    let settings = "[secrets]\nfile = \"secrets.env\"\n";
    std::fs::write(folder.join("branchpoint.toml"), settings).expect("the folder is writable");
    std::fs::write(folder.join("secrets.env"), "OWN_TOKEN=canary-of-the-machine\n").expect("it is writable");
    serve(folder)
}

fn save(server: &Server, name: &str) {
    server.post("/workflows", &json!({"text": document(), "name": name})).expect(201);
}

#[test]
fn a_secret_is_set_listed_without_its_value_and_removed() {
    let server = Server::demo();
    let set = |name: &str, body: &Value| server.replace(&format!("/settings/secrets/{name}"), &[], body);
    let stored = set("DEPLOY_TOKEN", &json!({"value": CANARY, "workflows": ["deploy-*"]}));
    let record = stored.expect(200);
    assert_eq!((&record["name"], &record["set_by"]), (&json!("DEPLOY_TOKEN"), &json!("ada")));
    assert_eq!((&record["workflows"], &record["hidden"]), (&json!(["deploy-*"]), &json!(false)));
    let listed = server.get("/settings/secrets");
    assert_eq!(listed.expect(200).as_array().unwrap().len(), 1);
    let one = server.get("/settings/secrets/DEPLOY_TOKEN");
    assert_eq!(one.problem(405), "method_not_allowed");
    assert!(![stored.text, listed.text, one.text].concat().contains(CANARY));
    assert_eq!(server.send("DELETE", "/settings/secrets/DEPLOY_TOKEN", &[], "").status, 204);
    assert_eq!(server.send("DELETE", "/settings/secrets/DEPLOY_TOKEN", &[], "").problem(404), "not_found");
    assert_eq!(server.get("/settings/secrets").expect(200), json!([]));
}

#[test]
fn a_rejected_request_repeats_no_part_of_the_value() {
    let server = Server::demo();
    let bodies = [
        json!({"value": [CANARY]}),
        json!({"value": {CANARY: CANARY}}),
        json!({"value": CANARY, CANARY: 1}),
        json!({"value": CANARY, "workflows": CANARY}),
        json!({"value": CANARY, "workflows": [{"a": CANARY}]}),
        json!([CANARY]),
        json!({"value": format!("{CANARY}\0")}),
        json!({"value": CANARY.repeat(5_000)}),
        json!({"value": ""}),
    ];
    for body in bodies {
        let rejected = server.replace("/settings/secrets/TOKEN", &[], &body);
        assert_eq!(rejected.problem(422), "invalid_input", "{}", rejected.text);
        assert!(!rejected.text.contains("canary"), "{}", rejected.text);
    }
    let broken = format!("{{\"value\": \"{CANARY}");
    let headers = [("content-type", "application/json")];
    let rejected = server.send("PUT", "/settings/secrets/TOKEN", &headers, &broken);
    assert!(rejected.problem(400) == "bad_request" && !rejected.text.contains("canary"), "{}", rejected.text);
    for name in ["a%20b", "..%2f..%2fetc", "1ST", "A-B", &"A".repeat(300)] {
        let rejected = server.replace(&format!("/settings/secrets/{name}"), &[], &json!({"value": CANARY}));
        assert_eq!(rejected.problem(422), "invalid_input", "{name}");
    }
    assert_eq!(server.get("/settings/secrets").expect(200), json!([]));
}

#[test]
fn only_admins_of_everything_set_secrets() {
    let guarded = Guarded::new();
    let body = json!({"value": CANARY});
    for arguments in [&["create", "--role", "editor"][..], &["create", "--role", "admin", "--workflow", "a-*"]] {
        let token = guarded.token(arguments);
        for (method, path) in [("GET", ""), ("PUT", "/TOKEN"), ("DELETE", "/TOKEN")] {
            let response = guarded.with(&token, method, &format!("/settings/secrets{path}"), &body);
            assert_eq!(response.problem(403), "forbidden", "{arguments:?} {method}");
        }
    }
    let anonymous = guarded.server.replace("/settings/secrets/TOKEN", &[], &body);
    assert_eq!(anonymous.problem(401), "unauthenticated");
    let admin = guarded.token(&["create", "--user", "root", "--role", "admin"]);
    assert_eq!(guarded.with(&admin, "PUT", "/settings/secrets/TOKEN", &body).expect(200)["set_by"], "root");
    let log = guarded.with(&admin, "GET", "/settings/audit", &Value::Null);
    assert_eq!(log.json()["items"][0]["path"], "/api/v1/settings/secrets/TOKEN");
    assert!(!log.text.contains(CANARY));
}

#[test]
fn a_workflow_uses_a_secret_that_is_permitted_for_its_name() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let server = served(folder.path());
    for name in ["deploy-a", "other"] {
        save(&server, name);
    }
    let start = |name: &str| server.post("/runs?wait=30s", &json!({"workflow": name}));
    assert_eq!(start("deploy-a").status, 403, "there is no such secret");
    let body = json!({"value": CANARY, "workflows": ["deploy-*"]});
    server.replace("/settings/secrets/DEPLOY_TOKEN", &[], &body).expect(200);
    let rejected = start("other");
    assert_eq!(rejected.problem(403), "not_permitted");
    assert!(rejected.text.contains("DEPLOY_TOKEN") && !rejected.text.contains(CANARY), "{}", rejected.text);
    assert!(start("deploy-a").status < 300);
    // One permitted name does not open another beside it.
    let text = document()
        .replace("{{secret.DEPLOY_TOKEN}}", "{{secret.DEPLOY_TOKEN}} {{step.leak.output}} {{secret.OWN_TOKEN}}");
    server.post("/workflows", &json!({"text": text, "name": "deploy-b"})).expect(201);
    assert_eq!(start("deploy-b").expect(403)["missing"], json!(["the secret `OWN_TOKEN`"]));
    server.replace("/settings/secrets/DEPLOY_TOKEN", &[], &json!({"value": CANARY})).expect(200);
    assert_eq!(start("deploy-a").problem(403), "not_permitted", "without patterns, no saved workflow may use it");
}

#[test]
fn a_stored_secret_permits_nothing_that_the_machine_has() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let server = served(folder.path());
    let text = document().replace("DEPLOY_TOKEN", "OWN_TOKEN");
    server.post("/workflows", &json!({"text": text, "name": "thief"})).expect(201);
    let body = json!({"value": "x", "workflows": ["*"]});
    let set = server.replace("/settings/secrets/OWN_TOKEN", &[], &body);
    assert!(set.problem(409) == "conflict" && !set.text.contains("canary-of"), "{}", set.text);
    // A name that the machine gets later is not permitted by the earlier secret, either.
    server.replace("/settings/secrets/LATER_TOKEN", &[], &body).expect(200);
    let text = document().replace("DEPLOY_TOKEN", "LATER_TOKEN");
    server.post("/workflows", &json!({"text": text, "name": "patient"})).expect(201);
    assert!(server.post("/runs", &json!({"workflow": "patient"})).status < 300);
    drop(server);
    std::fs::write(folder.path().join("secrets.env"), "LATER_TOKEN=canary-of-the-machine\n").expect("it is writable");
    let server = serve(folder.path());
    assert_eq!(server.get("/settings/secrets").expect(200)[0]["hidden"], true);
    assert_eq!(server.post("/runs", &json!({"workflow": "patient"})).problem(403), "not_permitted");
}

/// Runs `branchpoint` in a folder with this standard input.
fn run(folder: &Path, arguments: &[&str], input: &str) -> (bool, String) {
    let mut command = command(arguments);
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn the_value_appears_in_no_output_event_log_metric_file_export_or_backup() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let at = folder.path();
    let server = served(at);
    let (is_set, output) =
        run(at, &["secrets", "set", "DEPLOY_TOKEN", "--workflow", "*", "--store", "store.db"], &format!("{CANARY}\n"));
    assert!(is_set && !output.contains(CANARY), "{output}");
    let trusted = at.join("deploy.yaml");
    std::fs::write(&trusted, document()).expect("the folder is writable");
    let (is_run, output) =
        run(at, &["run", "deploy.yaml", "--id", "local", "--store", "store.db", "--allow-private-network"], "");
    assert!(is_run && output.contains("***"), "{output}");
    assert!(output.contains("got ***"), "the receiver got the value: {output}");
    let mut seen = vec![("run".to_owned(), output)];
    for arguments in [
        &["runs", "show", "local"][..],
        &["runs", "trace", "local", "--json"],
        &["runs", "export", "local"],
        &["secrets", "list"],
        &["secrets", "list", "--json"],
        &["doctor"],
        &["store", "backup", "copy.db"],
    ] {
        let (_, output) = run(at, &[arguments, &["--store", "store.db"]].concat(), "");
        seen.push((arguments.join(" "), output));
    }
    assert!(at.join("copy.db").is_file(), "{:?}", seen.last());
    for path in [
        "/runs/local",
        "/runs/local/trace",
        "/runs/local/export",
        "/runs/local/recording",
        "/runs",
        "/settings/secrets",
        "/settings/audit",
        "/settings/doctor",
        "//metrics",
        "/me",
    ] {
        let response = server.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.text);
        seen.push((path.to_owned(), response.text));
    }
    let audit = &seen.iter().find(|(name, _)| name == "/settings/audit").expect("it was read").1;
    assert!(audit.contains("secrets set DEPLOY_TOKEN"), "{audit}");
    for (name, output) in &seen {
        assert!(!output.contains(CANARY), "{name}: {output}");
    }
    drop(server);
    for entry in std::fs::read_dir(at).expect("it is readable").flatten().filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(entry.path()).expect("it is readable");
        let has_value = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
        assert!(!has_value, "{}", entry.path().display());
    }
    // A backup without the key lists the name and opens nothing.
    let (_, listed) = run(at, &["secrets", "list", "--store", "copy.db"], "");
    assert!(listed.contains("DEPLOY_TOKEN"), "{listed}");
    let (is_run, output) = run(at, &["run", "deploy.yaml", "--store", "copy.db", "--allow-private-network"], "");
    assert!(!is_run && output.contains("DEPLOY_TOKEN") && !output.contains(CANARY), "{output}");
}

#[test]
fn live_events_and_results_of_a_run_mask_the_value() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let server = served(folder.path());
    save(&server, "deploy");
    let body = json!({"value": CANARY, "workflows": ["*"]});
    server.replace("/settings/secrets/DEPLOY_TOKEN", &[], &body).expect(200);
    let mut stream = Stream::open(&server, "runs,workflows", None);
    let started = server.post("/runs?wait=30s", &json!({"workflow": "deploy", "id": "d1"}));
    assert!(started.text.contains("got ***") && !started.text.contains("canary"), "{}", started.text);
    stream.until(|event| {
        assert!(!event.data.to_string().contains("canary"), "{event:?}");
        event.data["id"] == "d1" && event.data["status"] == "completed"
    });
    let mut steps = Stream::open(&server, "run:d1", None);
    let hello = steps.next();
    assert!(!hello.data.to_string().contains("canary"), "{hello:?}");
    for path in ["/runs/d1", "/runs/d1/trace", "/runs/d1/trace/leak%231", "/runs/d1/recording"] {
        let shown = server.get(path);
        assert!(shown.status == 200 && !shown.text.contains("canary"), "{path}: {}", shown.text);
    }
}
