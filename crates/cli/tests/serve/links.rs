//! Signed links to approvals, and attacks on them.

use serde_json::{Value, json};

use crate::client::{Response, Server, command};
use crate::identity::Guarded;

const ASKS: &str = "name: release\nsteps:\n  - {id: ask, step_type: human_in_the_loop, prompt_template: \"Release {{input}}?\", recipient_distribution: selected_members, recipient_user_ids: [ada, bob], required_approvals: 2, timeout_seconds: 9000}\n";

/// A server that demands sign-in, with a run that waits for ada and bob.
struct Asking {
    guarded: Guarded,
    admin: String,
}

impl Asking {
    fn new() -> Self {
        let guarded = Guarded::new();
        let admin = guarded.token(&["create", "--role", "admin"]);
        let asking = Self { guarded, admin };
        assert_eq!(asking.admin("POST", "/workflows", &json!({"text": ASKS})).status, 201);
        asking.start("r1");
        asking
    }

    fn admin(&self, method: &str, path: &str, body: &Value) -> Response {
        self.guarded.with(&self.admin, method, path, body)
    }

    fn start(&self, id: &str) {
        let body = json!({"workflow": "release", "id": id, "inputs": {"input": "1.0"}});
        assert_eq!(self.admin("POST", "/runs?wait=30s", &body).expect(200)["status"], "waiting_people");
    }

    /// The approval of a run.
    fn approval(&self, run: &str) -> Value {
        self.admin("GET", &format!("/approvals/{}", self.key(run)), &Value::Null).expect(200)
    }

    /// The name of the open approval of a run.
    fn key(&self, run: &str) -> String {
        let open = self.admin("GET", "/approvals?show=all", &Value::Null).expect(200);
        let mut items = open["items"].as_array().expect("a list").iter();
        let item = items.find(|item| item["run"] == run).expect("the run has an open approval");
        item["key"].as_str().expect("a name").to_owned()
    }

    /// Creates a link on the command line, and returns its signed part.
    fn link(&self, run: &str, user: &str, more: &[&str]) -> String {
        let store = self.guarded.store();
        let approval = format!("{run}/ask");
        let arguments = [&["approvals", "link", &approval, "--user", user, "--store", &store], more].concat();
        let output = command(&arguments).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let url = String::from_utf8(output.stdout).expect("text").trim().to_owned();
        url.strip_prefix("http://127.0.0.1:8080/a/").expect("a link to the page").to_owned()
    }

    fn server(&self) -> &Server {
        &self.guarded.server
    }

    fn open(&self, link: &str) -> Response {
        self.server().get(&format!("/links/{link}"))
    }

    fn vote(&self, link: &str, key: Option<&str>, body: &Value) -> Response {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(key.map(|key| ("idempotency-key", key)));
        self.server().send("POST", &format!("/links/{link}/vote"), &headers, &body.to_string())
    }
}

fn approve() -> Value {
    json!({"choice": "approve", "comment": "fine"})
}

#[test]
fn a_link_shows_its_approval_and_votes_once() {
    let asking = Asking::new();
    let link = asking.link("r1", "ada", &[]);
    for _ in 0..3 {
        let shown = asking.open(&link).expect(200);
        assert_eq!((&shown["user"], &shown["used"]), (&json!("ada"), &json!(false)));
        assert_eq!(shown["approval"]["prompt"], "Release 1.0?");
        assert_eq!((&shown["approval"]["may_vote"], &shown["approval"]["votes"]), (&json!(true), &json!([])));
    }
    let voted = asking.vote(&link, Some("k1"), &approve()).expect(200);
    assert_eq!((&voted["used"], &voted["approval"]["votes"][0]["user"]), (&json!(true), &json!("ada")));
    assert_eq!(asking.vote(&link, Some("k1"), &approve()).expect(200)["used"], true, "a repetition changes nothing");
    let replayed = asking.vote(&link, None, &approve());
    assert_eq!(replayed.problem(409), "link_used");
    assert_eq!(replayed.json()["approval"]["votes"][0]["choice"], "approve");
    assert_eq!(asking.vote(&link, Some("k2"), &json!({"choice": "reject"})).problem(409), "link_used");
    let other = asking.link("r1", "bob", &[]);
    assert_eq!(asking.vote(&other, None, &approve()).expect(200)["approval"]["outcome"], "approve");
    assert_eq!(asking.open(&link).expect(200)["approval"]["outcome"], "approve");
    assert_eq!(asking.vote(&link, None, &json!({"choice": "reject"})).problem(409), "link_used");
    let run = asking.admin("GET", "/runs/r1", &Value::Null).expect(200);
    assert_eq!(run["status"], "completed", "{run:#}");
}

#[test]
fn forged_changed_and_expired_links_are_rejected() {
    let asking = Asking::new();
    let link = asking.link("r1", "ada", &[]);
    let (payload, signature) = link.split_once('.').unwrap();
    let swapped = asking.link("r1", "bob", &[]);
    let other_payload = swapped.split_once('.').unwrap().0;
    let forged = [
        format!("{other_payload}.{signature}"),
        format!("{payload}."),
        format!("{payload}.{}", "A".repeat(signature.len())),
        format!("{payload}A.{signature}"),
        link.to_uppercase(),
        "x".to_owned(),
        "..".to_owned(),
        "%00".to_owned(),
        "A".repeat(9_000),
    ];
    for forged in forged {
        assert_eq!(asking.open(&forged).problem(404), "link_invalid", "{forged}");
        assert_eq!(asking.vote(&forged, None, &approve()).problem(404), "link_invalid", "{forged}");
    }
    let expired = asking.link("r1", "ada", &["--expires", "0s"]);
    assert_eq!(asking.open(&expired).problem(410), "link_expired");
    assert_eq!(asking.vote(&expired, None, &approve()).problem(410), "link_expired");
    assert_eq!(asking.approval("r1")["votes"], json!([]));
}

#[test]
fn a_link_grants_nothing_else() {
    let asking = Asking::new();
    asking.start("r2");
    let link = asking.link("r1", "ada", &[]);
    let shown = format!("/approvals/{}", asking.key("r1"));
    for credential in [&*link, link.split_once('.').unwrap().1] {
        for path in ["/me", "/runs", "/runs/r1", "/approvals", &shown, "/events?topics=runs", "/settings/tokens"] {
            assert_eq!(
                asking.guarded.with(credential, "GET", path, &Value::Null).problem(401),
                "unauthenticated",
                "{path}"
            );
            let cookie = format!("branchpoint={credential}");
            let by_cookie = asking.server().send("GET", path, &[("cookie", &cookie)], "");
            assert_eq!(by_cookie.problem(401), "unauthenticated", "{path}");
        }
    }
    for path in ["vote/../../../runs", "cancel", "delegate", "runs", "..%2f..%2fruns"] {
        let response = asking.server().post(&format!("/links/{link}/{path}"), &json!({}));
        assert!(response.status == 404 || response.status == 400, "{path}: {} {}", response.status, response.text);
    }
    for body in [json!({"choice": "approve", "user": "bob"}), json!({"choice": "approve", "run": "r2"})] {
        assert_eq!(asking.vote(&link, None, &body).problem(422), "invalid_input");
    }
    // A credential is no link, either.
    assert_eq!(asking.open(&asking.admin).problem(404), "link_invalid");
    asking.vote(&link, None, &approve()).expect(200);
    assert_eq!(asking.approval("r2")["votes"], json!([]), "the link is for one run");
}

#[test]
fn a_page_of_another_site_cannot_vote_with_a_link() {
    let asking = Asking::new();
    let link = asking.link("r1", "ada", &[]);
    for headers in [[("origin", "http://evil.example")], [("sec-fetch-site", "cross-site")]] {
        let path = format!("/links/{link}/vote");
        assert_eq!(asking.server().send("POST", &path, &headers, &approve().to_string()).problem(403), "forbidden");
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let posted = asking.server().send("POST", &format!("/links/{link}/vote"), &form, "choice=approve");
    assert_eq!(posted.problem(415), "unsupported_media");
    assert_eq!(asking.open(&link).expect(200)["used"], false);
}

#[test]
fn a_user_who_may_not_vote_any_more_cannot_use_a_link() {
    let asking = Asking::new();
    let (ada, bob) = (asking.link("r1", "ada", &[]), asking.link("r1", "bob", &[]));
    asking.guarded.token(&["revoke-links", "--user", "bob"]);
    assert_eq!(asking.open(&bob).problem(404), "link_invalid");
    assert_eq!(asking.vote(&bob, None, &approve()).problem(404), "link_invalid");
    assert_eq!(asking.open(&ada).status, 200);
    asking.guarded.token(&["rotate-link-key"]);
    assert_eq!(asking.open(&ada).status, 200, "earlier links stay valid");
    assert_eq!(asking.admin("POST", &format!("/approvals/{}/cancel", asking.key("r1")), &json!({})).status, 200);
    assert_eq!(asking.vote(&ada, None, &approve()).problem(409), "not_pending");
    asking.guarded.token(&["revoke-links"]);
    assert_eq!(asking.open(&ada).problem(404), "link_invalid");
}

#[test]
fn a_link_does_not_reach_a_later_run_of_the_same_id() {
    let asking = Asking::new();
    let link = asking.link("r1", "ada", &[]);
    assert!(asking.admin("POST", "/runs/r1/cancel", &json!({})).status < 300);
    let store = asking.guarded.store();
    let pruned = command(&["prune", "--older-than", "0s", "--store", &store]).output().expect("it runs");
    assert!(pruned.status.success(), "{}", String::from_utf8_lossy(&pruned.stderr));
    assert_eq!(asking.open(&link).problem(404), "link_invalid", "the run is gone");
    asking.start("r1");
    assert_eq!(asking.open(&link).problem(404), "link_invalid");
    assert_eq!(asking.vote(&link, None, &approve()).problem(404), "link_invalid");
}

#[test]
fn votes_by_link_are_logged_without_the_link() {
    let asking = Asking::new();
    let link = asking.link("r1", "ada", &[]);
    let path = format!("/api/v1/links/{}/vote", asking.key("r1"));
    asking.vote(&link, None, &approve()).expect(200);
    assert_eq!(asking.vote("forged.link", None, &approve()).problem(404), "link_invalid");
    let log = asking.admin("GET", "/settings/audit", &Value::Null);
    let entries = log.json();
    let find = |path: &str| entries["items"].as_array().unwrap().iter().find(|entry| entry["path"] == path).cloned();
    let vote = find(&path).expect("the vote is logged");
    assert_eq!((&vote["user"], &vote["credential"], &vote["status"]), (&json!("ada"), &json!("link"), &json!(200)));
    assert_eq!(find("/api/v1/links/***/vote").expect("the attempt is logged")["user"], Value::Null);
    assert!(!log.text.contains(&link) && !log.text.contains("forged.link"));
}
