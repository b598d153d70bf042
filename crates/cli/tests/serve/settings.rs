//! Settings over the API: people and groups, credentials with their latest use, providers of models, and pages of the audit log.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::client::{Server, command};
use crate::identity::Guarded;

/// A provider that accepts one key and lists two models. Its address ends with a query, which may contain a key.
fn provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).expect("a line") > 0 {}
            let is_known = head.to_lowercase().contains("authorization: bearer key-that-fits\r\n");
            let (status, body) = if is_known {
                ("200 OK", r#"{"data": [{"id": "small"}, {"id": "large"}]}"#)
            } else {
                ("401 Unauthorized", r#"{"error": {"message": "unknown key canary-5ecret"}}"#)
            };
            let length = body.len();
            let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    format!("http://{address}/v1/?token=canary-5ecret")
}

const ASK: &str = "name: ask\nsteps:\n  - {id: answer, step_type: prompt_call, prompt_template: \"{{input}}\"}\n";

/// A server with the providers `fits`, `wrong` and `keyless`.
fn with_providers() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let url = provider();
    let settings = format!(
        "store = \"store.db\"\n[models]\ndefault = \"fits/small\"\n\
         [models.providers.fits]\nbase_url = {url:?}\nkey_env = \"FITS_KEY\"\nmodel = \"small\"\n\
         [models.providers.wrong]\nbase_url = {url:?}\nkey_env = \"WRONG_KEY\"\n\
         [models.providers.keyless]\nbase_url = {url:?}\nkey_env = \"ABSENT_KEY\"\n"
    );
    std::fs::write(folder.path().join("branchpoint.toml"), settings).expect("the folder is writable");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.current_dir(folder.path()).env("FITS_KEY", "key-that-fits").env("WRONG_KEY", "canary-5ecret");
    serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let server = Server::of(serve);
    (folder, server)
}

#[test]
fn providers_are_listed_and_checked_without_their_keys() {
    let (_folder, server) = with_providers();
    server.post("/workflows", &json!({"text": ASK})).expect(201);
    let listed = server.get("/settings/providers");
    let items = listed.expect(200)["items"].clone();
    let part = |name: &str| items.as_array().unwrap().iter().find(|item| item["name"] == name).cloned().unwrap();
    assert_eq!((&part("fits")["key"], &part("fits")["models"]), (&json!("set"), &json!(["small"])), "{items:#}");
    assert_eq!((&part("fits")["used_by"], &part("wrong")["used_by"]), (&json!(1), &json!(0)));
    assert_eq!(part("keyless")["key"], "missing");
    assert!(part("keyless")["problem"].as_str().unwrap().contains("ABSENT_KEY"), "{items:#}");
    let endpoint = part("fits")["endpoint"].as_str().unwrap().to_owned();
    assert!(endpoint.starts_with("http://127.0.0.1:") && endpoint.ends_with("/v1/"), "{endpoint}");
    let check = |name: &str| server.post(&format!("/settings/providers/{name}/check"), &json!({}));
    let fits = check("fits").expect(200);
    assert_eq!((&fits["ok"], &fits["message"]), (&json!(true), &json!("It responds and lists 2 models.")));
    let wrong = check("wrong");
    assert_eq!(wrong.expect(200)["ok"], false);
    assert!(wrong.text.contains("rejected the API key"), "{}", wrong.text);
    assert_eq!(check("keyless").expect(200)["ok"], false);
    assert_eq!(check("other").problem(404), "not_found");
    for response in [&listed, &wrong] {
        assert!(!response.text.contains("canary-5ecret") && !response.text.contains("key-that-fits"));
    }
}

#[test]
fn steps_without_a_configured_runner_are_listed_by_workflow() {
    let (_folder, server) = with_providers();
    server.post("/workflows", &json!({"text": ASK})).expect(201);
    let keyless = ASK.replace("id: answer", "id: answer, model: keyless/small");
    server.post("/workflows", &json!({"text": keyless, "name": "keyless"})).expect(201);
    let listed = server.get("/settings/runner-check").expect(200);
    let item = |name: &str| listed["items"].as_array().unwrap().iter().find(|item| item["workflow"] == name).cloned();
    assert_eq!(item("ask").unwrap()["ok"], true, "{listed:#}");
    let keyless = item("keyless").unwrap();
    assert_eq!((&keyless["ok"], &keyless["findings"][0]["kind"]), (&json!(false), &json!("no_runner")), "{listed:#}");
    assert!(keyless["findings"][0]["help"].as_str().unwrap().contains("ABSENT_KEY"));
}

#[test]
fn only_admins_see_providers_and_credentials() {
    let guarded = Guarded::new();
    let viewer = guarded.token(&["create", "--user", "eve", "--role", "viewer"]);
    for path in ["/settings/providers", "/settings/runner-check", "/settings/audit"] {
        assert_eq!(guarded.with(&viewer, "GET", path, &Value::Null).problem(403), "forbidden", "{path}");
    }
    assert_eq!(guarded.with(&viewer, "POST", "/settings/providers/x/check", &json!({})).problem(403), "forbidden");
    let people = guarded.with(&viewer, "GET", "/settings/people", &Value::Null).expect(200);
    assert_eq!(people["credentials"], Value::Null);
    let admin = guarded.token(&["create", "--user", "root", "--role", "admin"]);
    let people = guarded.with(&admin, "GET", "/settings/people", &Value::Null).expect(200);
    let eve = people["credentials"].as_array().unwrap().iter().find(|entry| entry["user"] == "eve").cloned().unwrap();
    assert_eq!(eve["role"], "viewer");
    assert!(eve["last_used"].is_string(), "{people:#}");
}

#[test]
fn the_latest_use_of_a_token_is_shown_and_survives_the_server() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--user", "root", "--role", "admin"]);
    guarded.token(&["create", "--user", "idle"]);
    let listed = guarded.with(&admin, "GET", "/settings/tokens", &Value::Null).expect(200);
    let used = |user: &str| {
        let entry = listed.as_array().unwrap().iter().find(|entry| entry["user"] == user);
        entry.expect("the token is listed")["last_used"].clone()
    };
    assert!(used("root").is_string(), "{listed:#}");
    assert_eq!(used("idle"), Value::Null);
    // Another process reads what the server has written.
    let listed: Value = serde_json::from_str(&guarded.token(&["list", "--json"])).expect("JSON");
    let entry = listed.as_array().unwrap().iter().find(|entry| entry["user"] == "root").unwrap();
    assert!(entry["last_used"].is_string(), "{listed:#}");
}

#[test]
fn groups_are_listed_with_their_members() {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let settings = "store = \"store.db\"\n[people]\nowner = \"ada\"\n[groups]\nsecurity = [\"bob\", \"cy\"]\n";
    std::fs::write(folder.path().join("branchpoint.toml"), settings).expect("the folder is writable");
    let server = Server::start_in(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let people = server.get("/settings/people").expect(200);
    assert_eq!(people["groups"], json!([{"name": "security", "members": ["bob", "cy"]}]));
}

#[test]
fn the_audit_log_has_pages_and_filters() {
    let guarded = Guarded::new();
    let admin = guarded.token(&["create", "--user", "root", "--role", "admin"]);
    for name in ["one", "two", "three"] {
        let path = format!("/settings/secrets/{name}");
        assert_eq!(guarded.with(&admin, "PUT", &path, &json!({"value": "x"})).status, 200);
    }
    let get = |query: &str| guarded.with(&admin, "GET", &format!("/settings/audit?{query}"), &Value::Null).expect(200);
    let mut paths = Vec::new();
    let mut query = "limit=2".to_owned();
    loop {
        let page = get(&query);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        paths.extend(items.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => query = format!("limit=2&cursor={next}"),
            None => break,
        }
    }
    let ends = ["/three", "/two", "/one"];
    assert!(paths.iter().zip(ends).all(|(path, end)| path.ends_with(end)), "{paths:?}");
    assert_eq!(get("q=SECRETS/TWO")["items"].as_array().unwrap().len(), 1);
    assert_eq!(get("user=eve")["items"], json!([]));
    let wrong = guarded.with(&admin, "GET", "/settings/audit?cursor=x", &Value::Null);
    assert_eq!(wrong.problem(400), "bad_request");
}
