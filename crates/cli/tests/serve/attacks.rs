//! Attacks that no other file tests: names that are paths or headers, runs of other workflows, documents that reach for the machine.
//!
//! | attack | test |
//! |---|---|
//! | forged, expired and revoked tokens | `identity::nothing_is_served_without_a_credential`, `a_revoked_token_is_rejected_at_once` |
//! | forged, replayed and expired links to approvals | `links::forged_changed_and_expired_links_are_rejected`, `a_link_shows_its_approval_and_votes_once`, `a_link_does_not_reach_a_later_run_of_the_same_id`, `a_link_grants_nothing_else` |
//! | replayed links to sign in | `identity::a_link_signs_in_one_browser_and_only_its_button_does`, `an_admin_creates_a_link_that_signs_in_once` |
//! | forged and replayed sign-ins with a provider, open redirect | `oidc::forged_sign_ins_are_rejected`, and `a_sign_in_leads_to_no_other_site` below |
//! | CSRF | `identity::requests_under_other_names_and_of_other_pages_are_rejected`, `links::a_page_of_another_site_cannot_vote_with_a_link` |
//! | votes for others | `approvals::only_approvers_vote`, `links::a_user_who_may_not_vote_any_more_cannot_use_a_link`, and below |
//! | runs of other workflows | `identity::roles_and_patterns_limit_what_a_token_may_do`, and every endpoint below |
//! | path traversal in names and attachments | below |
//! | large requests | `identity::large_requests_are_rejected` |
//! | slow requests, floods of requests and of event streams | `crates/server/tests/limits.rs` |
//! | header injection | below, and `mails::the_page_of_a_mail_loads_nothing_and_headers_cannot_be_added` |
//! | secrets in the API, events, logs, metrics, the audit log, exports and backups | `secrets::the_value_appears_in_no_output_event_log_metric_file_export_or_backup`, `live_events_and_results_of_a_run_mask_the_value` |
//! | secrets in problem responses | `secrets::a_rejected_request_repeats_no_part_of_the_value` |
//! | secrets in mails and webhooks | `mails::secrets_are_masked_in_mails`, `webhooks::messages_for_slack_mention_no_person_and_their_secret_address_is_hidden` |
//! | commands, agent programs and secrets of documents | `identity::a_document_saved_over_the_api_gets_no_shell_and_no_keys` |
//! | local files, variables and private networks of documents | below |

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::Server;
use crate::identity::Guarded;

const ASKING: &str = "name: asking
steps:
  - {id: note, step_type: text, template: \"canary {{input}}\"}
  - {id: ask, step_type: human_in_the_loop, prompt: \"Go {{step.note.output}}?\", choices: [yes, no], required_approvals: 1}
";

/// All files below a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("it is a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            paths.extend(files(&path));
        } else {
            paths.insert(path.to_string_lossy().into_owned());
        }
    }
    paths
}

#[test]
fn names_of_workflows_and_runs_are_no_paths() {
    let outside = tempfile::tempdir().expect("there is room");
    let folder = outside.path().join("a/b");
    std::fs::create_dir_all(&folder).expect("it is created");
    std::fs::write(outside.path().join("key.txt"), "canary").expect("it is written");
    let server = Server::start_in(&folder, &["serve", "--store", "store.db", "--listen", "127.0.0.1:0"]);
    server.post("/workflows", &json!({"text": ASKING})).expect(201);
    let before = files(outside.path());
    for name in ["../../key.txt", "..", "a/../../key.txt", "/etc/passwd", "..\\key.txt", "key.txt\0"] {
        let encoded = percent_encode(name);
        // A name that is allowed is a name: it is stored and never opened.
        let saved = server.post("/workflows", &json!({"text": ASKING, "name": name}));
        assert!([201, 422].contains(&saved.status), "{name}: {}", saved.text);
        let started = server.post("/runs", &json!({"workflow": "asking", "id": name}));
        assert_eq!(started.problem(422), "invalid_input", "{name}");
        for path in
            ["/workflows/NAME", "/runs/NAME", "/runs/NAME/export", "/runs/NAME/source", "/settings/secrets/NAME"]
        {
            let response = server.get(&path.replace("NAME", &encoded));
            assert!(!response.text.contains("canary\n") && response.status < 500, "{path} {name}: {}", response.text);
        }
        for path in ["//NAME", "//assets/NAME", "//docs/NAME", "/docs/NAME", "/schema/NAME", "/palette/NAME"] {
            for name in [name, &encoded, &name.replace('.', "%2e")] {
                if name.contains(['\0', '\\']) {
                    continue;
                }
                let response = server.get(&path.replace("NAME", name));
                let shows_file = response.text.contains("canary") || response.text.contains("root:");
                assert!(!shows_file && response.status < 500, "{path} {name}: {}", response.text);
            }
        }
    }
    let is_of_store = |path: &&String| path.contains("/store.db");
    let added: Vec<String> =
        files(outside.path()).difference(&before).filter(|path| !is_of_store(path)).cloned().collect();
    assert_eq!(added, Vec::<String>::new(), "requests create no files");
}

#[test]
fn names_of_attachments_are_no_paths() {
    let server = Server::demo();
    let request = json!({"workflow": "attachments", "inputs": {"input": "see file"}});
    for name in ["../../etc/passwd", "..", ".", "/etc/passwd", "a/b", "..\\b", "C:\\b", "a\u{7f}b", ""] {
        let body = format!(
            "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{request}\r\n\
             --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\n\r\nhello\r\n--b--\r\n",
            name.replace('\\', "\\\\")
        );
        let headers = [("content-type", "multipart/form-data; boundary=b")];
        let rejected = server.send("POST", "/runs?wait=30s", &headers, &body);
        // Names with control characters are not even headers.
        assert!([400, 422].contains(&rejected.status), "{name}: {}", rejected.text);
    }
    assert_eq!(server.get("/runs").expect(200)["items"], json!([]));
}

#[test]
fn no_value_of_a_request_becomes_a_header() {
    const BREAK: &str = "x\r\nx-injected: 1\r\nset-cookie: a=b";
    let server = Server::demo();
    let encoded = percent_encode(BREAK);
    let mut responses = vec![
        server.post("/workflows", &json!({"text": ASKING, "name": BREAK})),
        server.post("/workflows", &json!({"text": ASKING.replace("asking", "\"x\\r\\nx-injected: 1\"")})),
        server.post("/runs", &json!({"workflow": "hello", "id": BREAK})),
        server.post("/runs", &json!({"workflow": BREAK})),
        server.replace(&format!("/workflows/{encoded}"), &[], &json!({"text": ASKING})),
        server.post("/sign-in", &json!({"code": BREAK})),
    ];
    for path in [
        "/runs/NAME",
        "/runs/NAME/export",
        "/runs/NAME/recording",
        "/workflows/NAME",
        "/workflows/NAME/drawing",
        "//NAME",
        "/sign-in/oidc?to=NAME",
        "//sign-in?code=NAME",
        "/runs?cursor=NAME",
        "/events?topics=run:NAME%0aid:",
        "/links/NAME",
    ] {
        responses.push(server.get(&path.replace("NAME", &encoded).replace("/events?topics=run:", "/schema/")));
    }
    for header in ["x-forwarded-host", "forwarded", "origin", "last-event-id", "idempotency-key"] {
        responses.push(server.send("GET", "/me", &[(header, "x\tx-injected: 1")], ""));
    }
    for response in responses {
        let is_added = |name: &String| name == "x-injected" || name == "set-cookie";
        assert!(!response.headers.keys().any(is_added), "{:?} {}", response.headers, response.text);
        assert!(response.status < 500 || response.status == 503, "{}: {}", response.status, response.text);
    }
}

#[test]
fn a_sign_in_leads_to_no_other_site() {
    let guarded = Guarded::new();
    for to in ["//evil.example", "https://evil.example", "/\\evil.example", "%2F%2Fevil.example", "javascript:x"] {
        let link = guarded.token(&["link", "--user", "eve", "--role", "viewer"]);
        let code = link.split_once("code=").expect("a link has a code").1;
        let own = format!("http://{}", guarded.server.address);
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("origin", own.as_str())];
        let body = format!("code={code}&to={to}&next={to}&redirect={to}");
        let signed_in = guarded.server.send("POST", &format!("//sign-in?to={to}"), &headers, &body);
        let location = signed_in.headers.get("location").map_or("/", String::as_str);
        assert_eq!(location, "/", "{to}: {}", signed_in.text);
    }
}

/// Every endpoint of a run: a caller who may not read its workflow learns nothing, not even that it exists.
#[test]
fn runs_of_other_workflows_do_not_exist() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--user", "root", "--role", "admin"]);
    for name in ["own", "other"] {
        let body = json!({"text": ASKING, "name": name});
        assert_eq!(guarded.with(&admin, "POST", "/workflows", &body).status, 201);
        let run =
            json!({"workflow": name, "id": format!("run-{name}"), "inputs": {"input": "of the other"}, "tags": ["t"]});
        assert_eq!(guarded.with(&admin, "POST", "/runs?wait=30s", &run).status, 200);
    }
    let open = guarded.with(&admin, "GET", "/approvals?show=all", &Value::Null).expect(200);
    let keys: Vec<&str> = open["items"].as_array().unwrap().iter().filter_map(|item| item["key"].as_str()).collect();
    let key = keys.iter().find(|key| key.starts_with("run-other")).expect("it waits");
    // An editor may do everything but administer, with workflows of one name.
    let eve = guarded.token(&["create", "--user", "eve", "--role", "editor", "--workflow", "own"]);
    let reads = [
        "",
        "/children",
        "/drawing",
        "/export",
        "/recording",
        "/source",
        "/trace",
        "/trace/note%231",
        "/trace/note%231/iterations",
        "/trace/note%231/playground",
        "/trace/note%231/values/output",
    ];
    for path in reads {
        for run in ["run-other", "missing"] {
            let response = guarded.with(&eve, "GET", &format!("/runs/{run}{path}"), &Value::Null);
            assert_eq!(response.problem(404), "not_found", "{path}");
            assert!(!response.text.contains("canary"), "{path}: {}", response.text);
        }
    }
    let changes = [
        ("POST", "/cancel", json!({})),
        ("POST", "/resume", json!({})),
        ("POST", "/retry", json!({})),
        ("POST", "/fork", json!({"step": "note"})),
        ("POST", "/signals", json!({"name": "x"})),
        ("POST", "/trace/note%231/what-if", json!({"with": {}})),
        ("PATCH", "", json!({"tags": {"add": ["mine"]}})),
    ];
    for (method, path, body) in changes {
        let response = guarded.with(&eve, method, &format!("/runs/run-other{path}"), &body);
        assert!(
            [404, 422].contains(&response.status) && !response.text.contains("canary"),
            "{path}: {}",
            response.text
        );
    }
    for (method, path, body) in [
        ("GET", "", Value::Null),
        ("GET", "/outcomes", Value::Null),
        ("POST", "/vote", json!({"choice": "yes"})),
        ("POST", "/delegate", json!({"to": "eve"})),
        ("DELETE", "/delegate", Value::Null),
        ("POST", "/cancel", json!({})),
    ] {
        let response = guarded.with(&eve, method, &format!("/approvals/{key}{path}"), &body);
        assert!(
            [404, 422].contains(&response.status) && !response.text.contains("canary"),
            "{path}: {}",
            response.text
        );
    }
    for path in [
        "/runs",
        "/runs?tag=t",
        "/runs?q=other",
        "/runs?workflow=other",
        "/approvals?show=all",
        "/workflows",
        "/overview",
    ] {
        let response = guarded.with(&eve, "GET", path, &Value::Null);
        assert!(response.status == 200 && !response.text.contains("run-other"), "{path}: {}", response.text);
    }
    let all = json!({"action": "cancel", "filter": {}, "dry_run": true});
    let preview = guarded.with(&eve, "POST", "/runs/bulk", &all).expect(200);
    assert_eq!((&preview["count"], preview.to_string().contains("run-other")), (&json!(1), false), "{preview:#}");
    let run = guarded.with(&admin, "GET", "/runs/run-other", &Value::Null).expect(200);
    assert_eq!((&run["status"], &run["tags"]), (&json!("waiting_people"), &json!(["t"])), "nothing has changed");
}

#[test]
fn votes_under_another_name_are_rejected() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--user", "root", "--role", "admin"]);
    let text =
        ASKING.replace("required_approvals: 1", "recipient_distribution: selected_members, recipient_user_ids: [ada]");
    assert_eq!(guarded.with(&admin, "POST", "/workflows", &json!({"text": text})).status, 201);
    let run = json!({"workflow": "asking", "id": "r1", "inputs": {"input": "x"}});
    assert_eq!(guarded.with(&admin, "POST", "/runs?wait=30s", &run).status, 200);
    let open = guarded.with(&admin, "GET", "/approvals?show=all", &Value::Null).expect(200);
    let vote = format!("/approvals/{}/vote", open["items"][0]["key"].as_str().expect("it waits"));
    let eve = guarded.token(&["create", "--user", "eve", "--role", "approver"]);
    assert_eq!(guarded.with(&eve, "POST", &vote, &json!({"choice": "yes"})).status, 403, "eve is not an approver");
    for body in [json!({"choice": "yes", "user": "ada"}), json!({"choice": "yes", "by": "ada"})] {
        let response = guarded.with(&eve, "POST", &vote, &body);
        assert!([403, 422].contains(&response.status), "{body}: {}", response.text);
    }
    for header in ["x-user", "x-forwarded-user", "remote-user", "x-branchpoint-user"] {
        let bearer = format!("Bearer {eve}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json"), (header, "ada")];
        let response = guarded.server.send("POST", &vote, &headers, &json!({"choice": "yes"}).to_string());
        assert_eq!(response.problem(403), "not_recipient", "{header}");
    }
    let signal = json!({"name": "vote", "payload": {"request": 1, "choice": "yes", "user": "ada"}});
    let signalled = guarded.with(&admin, "POST", "/runs/r1/signals", &signal);
    assert!([409, 422].contains(&signalled.status), "{}", signalled.text);
    let ada = guarded.token(&["create", "--user", "ada", "--role", "approver"]);
    assert_eq!(guarded.with(&ada, "POST", &vote, &json!({"choice": "yes"})).status, 200);
}

/// What a document names of the machine is not reached: files, variables of the environment, addresses of private networks.
#[test]
fn a_document_reaches_no_file_no_variable_and_no_private_address() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    std::fs::write(folder.path().join("key.txt"), "canary").expect("it is written");
    let server = Server::start_in(folder.path(), &["serve", "--store", "store.db", "--listen", "127.0.0.1:0"]);
    let inner = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    inner.set_nonblocking(true).expect("it does not block");
    let port = inner.local_addr().expect("it is bound").port();
    for address in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0"] {
        let text =
            format!("name: inner\nsteps:\n  - {{id: call, step_type: http, url: \"http://{address}:{port}/\"}}\n");
        let saved = server.post("/workflows", &json!({"text": text, "name": format!("inner-{address}")}));
        if saved.status == 422 {
            continue;
        }
        let name = saved.expect(201)["name"].clone();
        let started = server.post("/runs?wait=30s", &json!({"workflow": name}));
        assert!(started.status == 403 || started.json()["status"] == "failed", "{address}: {}", started.text);
    }
    assert!(inner.accept().is_err(), "a call has reached the machine");
    let files = "name: files\nstates:\n  initial: a\n  a: {type: step, script_file: key.txt, on_success: done, on_failure: done}\n  \
                 done: {type: terminal}\n";
    server.post("/workflows", &json!({"text": files})).expect(201);
    let rejected = server.post("/runs?wait=30s", &json!({"workflow": "files"}));
    assert_eq!(rejected.problem(403), "not_permitted");
    let missing = rejected.json()["missing"].to_string();
    assert!(missing.contains("files of the machine") && !rejected.text.contains("canary"), "{}", rejected.text);
}

/// The text for an address, every byte of it as `%XX`.
fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::new(), |encoded, byte| format!("{encoded}%{byte:02X}"))
}
