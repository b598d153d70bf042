//! Webhooks about runs and approvals, to a real HTTP receiver.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::client::{PATIENCE, Server};

/// A message that a webhook got.
#[derive(Clone, Debug)]
struct Message {
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Message {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}

/// A receiver of webhooks.
struct Receiver {
    address: String,
    messages: Arc<Mutex<Vec<Message>>>,
}

impl Receiver {
    /// A receiver whose first responses have these statuses; the others have 200.
    fn start(statuses: &[u16]) -> Self {
        Self::with_headers(statuses, "")
    }

    /// The same with headers in every response.
    fn with_headers(statuses: &[u16], headers: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let (messages, statuses) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(Mutex::new(statuses.iter().copied().collect::<VecDeque<u16>>())),
        );
        let receiver = Self { address, messages: Arc::clone(&messages) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (messages, statuses) = (Arc::clone(&messages), Arc::clone(&statuses));
                thread::spawn(move || receive(stream, &messages, &statuses, headers));
            }
        });
        receiver
    }

    fn messages(&self) -> Vec<Message> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[track_caller]
    fn wait(&self, count: usize) -> Vec<Message> {
        let begin = Instant::now();
        loop {
            let messages = self.messages();
            if messages.len() >= count {
                return messages;
            }
            assert!(begin.elapsed() < PATIENCE, "{} of {count} messages came: {messages:#?}", messages.len());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn receive(stream: TcpStream, messages: &Mutex<Vec<Message>>, statuses: &Mutex<VecDeque<u16>>, more: &str) {
    let mut out = stream.try_clone().expect("a stream has two ends");
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    let _ = stream.read_line(&mut line);
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).unwrap_or_default() == 0 || line.trim().is_empty() {
            break;
        }
        headers.extend(line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, length)| length.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    let _ = stream.read_exact(&mut body);
    let body = String::from_utf8(body).expect("text");
    messages.lock().unwrap_or_else(PoisonError::into_inner).push(Message { path, headers, body });
    let status = statuses.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or(200);
    let _ = write!(out, "HTTP/1.1 {status} X\r\n{more}content-length: 0\r\nconnection: close\r\n\r\n");
}

const DOCUMENTS: [(&str, &str); 3] = [
    ("pay-fine", "name: pay-fine\nsteps:\n  - {id: greet, step_type: text, template: \"Hello {{input}}\"}\n"),
    (
        "pay-wait",
        "name: pay-wait\nsteps:\n  - {id: ask, step_type: human_in_the_loop, prompt_template: \"Go <!channel>?\", recipient_distribution: selected_members, recipient_user_ids: [ada], required_approvals: 1, timeout_seconds: 9000}\n",
    ),
    ("other", "name: other\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n"),
];

struct Hooked {
    server: Server,
    folder: tempfile::TempDir,
}

fn serve(folder: &Path) -> Server {
    let store = folder.join("store.db").to_str().expect("a plain path").to_owned();
    Server::start_in(folder, &["serve", "--store", &store, "--listen", "127.0.0.1:0"])
}

impl Hooked {
    fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let settings = format!("[secrets]\nfile = \"secrets.env\"\n{settings}");
        std::fs::write(folder.path().join("branchpoint.toml"), settings).expect("the folder is writable");
        std::fs::write(folder.path().join("secrets.env"), "HOOK_SECRET=canary-hook-5ecret\n").expect("it is writable");
        let server = serve(folder.path());
        for (name, text) in DOCUMENTS {
            server.post("/workflows", &json!({"text": text, "name": name})).expect(201);
        }
        Self { server, folder }
    }

    fn run(&self, workflow: &str, id: &str) {
        let body = json!({"workflow": workflow, "id": id, "inputs": {"input": "Ada"}});
        self.server.post("/runs?wait=30s", &body).expect(200);
    }

    /// The only webhook, when its latest delivery is as expected.
    fn until(&self, is_expected: impl Fn(&Value) -> bool) -> Value {
        self.server.until("/settings/webhooks", |hooks| is_expected(&hooks[0]["deliveries"][0]))[0].clone()
    }
}

fn settings(receiver: &Receiver, more: &str) -> String {
    format!("[[webhooks]]\nname = \"ops\"\nurl = \"http://{}/hook?token=canary-path\"\n{more}", receiver.address)
}

#[test]
fn runs_that_wait_and_end_are_reported_with_a_signature() {
    let receiver = Receiver::start(&[]);
    let hooked = Hooked::new(&settings(&receiver, "workflow = \"pay-*\"\nsecret_env = \"HOOK_SECRET\"\n"));
    hooked.run("other", "r0");
    hooked.run("pay-fine", "r1");
    hooked.run("pay-wait", "r2");
    let approval = hooked.server.get("/approvals").expect(200)["items"][0]["key"].as_str().unwrap().to_owned();
    hooked.server.post(&format!("/approvals/{approval}/vote"), &json!({"choice": "approve"})).expect(200);
    let messages = receiver.wait(3);
    let types: Vec<Value> = messages.iter().map(|message| message.json()["type"].clone()).collect();
    assert_eq!(types, ["run.completed", "run.waiting", "run.completed"], "{messages:#?}");
    let first = &messages[0];
    let data = first.json()["data"].clone();
    assert_eq!(
        (&data["run"], &data["workflow"], &data["status"]),
        (&json!("r1"), &json!("pay-fine"), &json!("completed"))
    );
    assert!(data["result"].to_string().contains("Hello Ada"), "{data:#}");
    assert_eq!(first.path, "/hook?token=canary-path");
    for message in &messages {
        let (id, at) = (message.header("branchpoint-id"), message.header("branchpoint-timestamp"));
        let mut mac = Hmac::<Sha256>::new_from_slice(b"canary-hook-5ecret").unwrap();
        mac.update(format!("{id}.{at}.{}", message.body).as_bytes());
        let signature = message.header("branchpoint-signature").strip_prefix("v1=").expect("a signature");
        let digits = |at: usize| u8::from_str_radix(&signature[at..at + 2], 16).expect("hexadecimal digits");
        let bytes: Vec<u8> = (0..signature.len()).step_by(2).map(digits).collect();
        mac.verify_slice(&bytes).expect("the signature is right");
    }
    let hooks = hooked.server.get("/settings/webhooks");
    let hook = hooks.expect(200)[0].clone();
    assert_eq!((&hook["host"], &hook["signed"]), (&json!(format!("http://{}", receiver.address)), &json!(true)));
    let logged: Vec<&Value> = hook["deliveries"].as_array().unwrap().iter().map(|delivery| &delivery["id"]).collect();
    assert!(logged.contains(&&json!(first.header("branchpoint-id"))), "{hook:#}");
    assert!(!hooks.text.contains("canary"), "secrets and paths are not shown: {}", hooks.text);
}

#[test]
fn a_failed_delivery_is_repeated_under_its_id_also_after_the_server_was_killed() {
    let receiver = Receiver::start(&[503, 500]);
    let hooked = Hooked::new(&settings(&receiver, "events = [\"run.completed\"]\n"));
    hooked.run("pay-fine", "r1");
    let waiting = hooked.until(|delivery| delivery["attempts"] == 1);
    let delivery = &waiting["deliveries"][0];
    assert_eq!((&delivery["status"], &delivery["run"]), (&json!("pending"), &json!("r1")), "{waiting:#}");
    assert!(delivery["response"].as_str().unwrap().contains("503") && delivery["next_attempt"] != Value::Null);
    let Hooked { server, folder } = hooked;
    // This kills the process.
    drop(server);
    let hooked = Hooked { server: serve(folder.path()), folder };
    let delivered = hooked.until(|delivery| delivery["status"] == "delivered");
    assert_eq!(delivered["deliveries"][0]["attempts"], 3, "{delivered:#}");
    let messages = receiver.messages();
    let ids: Vec<&str> = messages.iter().map(|message| message.header("branchpoint-id")).collect();
    assert!(ids.len() == 3 && ids.iter().all(|id| *id == ids[0] && !id.is_empty()), "{ids:?}");
    assert!(messages.iter().all(|message| message.body == messages[0].body));
    assert!(messages.iter().all(|message| message.header("branchpoint-signature").is_empty()), "no secret is set");
    assert_eq!(hooked.server.get("/runs/r1").expect(200)["status"], "completed");
}

#[test]
fn a_redirect_is_not_followed_and_fails() {
    let receiver = Receiver::with_headers(&[302], "location: /moved?token=canary-target\r\n");
    let hooked = Hooked::new(&settings(&receiver, ""));
    hooked.run("pay-fine", "r1");
    let failed = hooked.until(|delivery| delivery["status"] == "failed");
    assert!(failed["deliveries"][0]["response"].as_str().unwrap().contains("302"), "{failed:#}");
    assert!(!failed.to_string().contains("canary"), "the target can be a secret: {failed:#}");
    assert_eq!(receiver.messages().len(), 1);
}

#[test]
fn the_next_attempt_waits_as_long_as_the_receiver_asks_for() {
    let receiver = Receiver::with_headers(&[503], "retry-after: 7000\r\n");
    let hooked = Hooked::new(&settings(&receiver, ""));
    hooked.run("pay-fine", "r1");
    let waiting = hooked.until(|delivery| delivery["attempts"] == 1);
    let delivery = &waiting["deliveries"][0];
    let at = |key: &str| delivery[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let pause = at("next_attempt").duration_since(at("last_attempt"));
    assert_eq!((delivery["status"].as_str().unwrap(), pause.as_secs()), ("pending", 7_000), "{waiting:#}");
}

#[test]
fn a_webhook_is_tested_by_an_admin_only() {
    let receiver = Receiver::start(&[]);
    let hooked = Hooked::new(&settings(&receiver, ""));
    let stored = hooked.server.post("/settings/webhooks/ops/test", &json!({})).expect(202);
    assert_eq!(stored["event"], "test");
    let message = receiver.wait(1).remove(0);
    assert_eq!(
        (message.json()["type"].clone(), message.header("branchpoint-id")),
        (json!("test"), stored["id"].as_str().unwrap())
    );
    hooked.until(|delivery| delivery["status"] == "delivered");
    assert_eq!(hooked.server.post("/settings/webhooks/nope/test", &json!({})).problem(404), "not_found");
    let log = hooked.server.get("/settings/audit").expect(200);
    assert!(log.to_string().contains("/api/v1/settings/webhooks/ops/test"), "{log:#}");
    let guarded = crate::identity::Guarded::new();
    let editor = guarded.token(&["create", "--role", "editor"]);
    assert_eq!(guarded.with(&editor, "GET", "/settings/webhooks", &Value::Null).problem(403), "forbidden");
    assert_eq!(guarded.with(&editor, "POST", "/settings/webhooks/ops/test", &Value::Null).problem(403), "forbidden");
}

#[test]
fn messages_for_slack_mention_no_person_and_their_secret_address_is_hidden() {
    let receiver = Receiver::start(&[]);
    let hook = "[[webhooks]]\nname = \"chat\"\nurl_env = \"CHAT_URL\"\nformat = \"slack\"\nevents = [\"approval.requested\"]\n[notify]\naddress = \"https://flow.example.org\"\n";
    let hooked = Hooked::new(hook);
    let secrets = format!("CHAT_URL=http://{}/services/canary-slack\n", receiver.address);
    std::fs::write(hooked.folder.path().join("secrets.env"), secrets).expect("it is writable");
    let Hooked { server, folder } = hooked;
    drop(server);
    let hooked = Hooked { server: serve(folder.path()), folder };
    hooked.run("pay-wait", "r1");
    let message = receiver.wait(1).remove(0);
    assert_eq!(message.path, "/services/canary-slack");
    let body = message.json();
    assert_eq!(body["text"], "Run r1 of pay-wait requests an approval");
    let blocks = body["blocks"].as_array().unwrap();
    assert_eq!(blocks[1]["text"], json!({"type": "plain_text", "text": "Go <!channel>?", "emoji": false}));
    assert!(blocks[2]["elements"][0]["url"].as_str().unwrap().starts_with("https://flow.example.org/approvals/r1/"));
    let hooks = hooked.server.get("/settings/webhooks");
    assert_eq!(hooks.expect(200)[0]["host"], Value::Null);
    assert!(!hooks.text.contains("canary"), "{}", hooks.text);
}
