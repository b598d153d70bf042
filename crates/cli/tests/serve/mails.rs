//! Mails about approvals, to a real SMTP server.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Response, Server};
use crate::smtp::{Mail, Smtp};

const ASK: &str = "name: release
steps:
  - {id: ask, step_type: human_in_the_loop, prompt_template: \"Release {{input}}?\", recipient_distribution: selected_members, recipient_user_ids: [ada, bob, cyd], required_approvals: 2, timeout_seconds: 90000, OPTIONS}
";

/// A server whose people have mail boxes. `cyd` has none.
struct Mailing {
    server: Server,
    smtp: Smtp,
    _folder: tempfile::TempDir,
}

impl Mailing {
    fn new(notify: &str, options: &str) -> Self {
        let (smtp, folder) = (Smtp::start(), tempfile::tempdir().expect("there is room for a store"));
        let server = Self::serve(folder.path(), &smtp, notify);
        let text = if options.is_empty() { ASK.replace(", OPTIONS", "") } else { ASK.replace("OPTIONS", options) };
        server.post("/workflows", &json!({"text": text})).expect(201);
        Self { server, smtp, _folder: folder }
    }

    fn serve(folder: &Path, smtp: &Smtp, notify: &str) -> Server {
        let settings = format!(
            "[mail]\nurl = \"smtp://127.0.0.1:{}\"\nfrom = \"House <house@example.org>\"\n\
             [people.mail]\nada = \"Ada <ada@example.org>\"\nbob = \"bob@example.org\"\ndee = \"dee@example.org\"\n\
             [notify]\naddress = \"https://flow.example.org/\"\n{notify}",
            smtp.port
        );
        std::fs::write(folder.join("branchpoint.toml"), settings).expect("the folder is writable");
        let store = folder.join("store.db").to_str().expect("a plain path").to_owned();
        Server::start_in(folder, &["serve", "--store", &store, "--listen", "127.0.0.1:0"])
    }

    fn start(&self, id: &str, input: &str) {
        let body = json!({"workflow": "release", "id": id, "inputs": {"input": input}});
        assert_eq!(self.server.post("/runs?wait=30s", &body).expect(200)["status"], "waiting_people");
    }

    fn vote(&self, mail: &Mail, choice: &str) -> Response {
        let link = mail.link();
        let signed = link.strip_prefix("https://flow.example.org/a/").expect("a link to the page");
        self.server.post(&format!("/links/{signed}/vote"), &json!({"choice": choice}))
    }
}

#[track_caller]
fn to<'m>(mails: &'m [Mail], address: &str) -> Vec<&'m Mail> {
    mails.iter().filter(|mail| mail.to == [address]).collect()
}

#[test]
fn every_approver_with_a_mail_box_gets_a_link_of_their_own_and_the_outcome() {
    let mailing = Mailing::new("", "");
    mailing.start("r1", "1.0");
    let mails = mailing.smtp.wait(2);
    let (ada, bob) = (to(&mails, "ada@example.org")[0], to(&mails, "bob@example.org")[0]);
    assert_eq!((ada.header("subject"), ada.header("to")), ("Release 1.0? [release]", "Ada <ada@example.org>"));
    for part in [&ada.text, &ada.html] {
        for expected in ["Release 1.0?", "approve", "2 votes", "ada, bob, cyd", "UTC", &ada.link()] {
            assert!(part.contains(expected), "{expected}: {part}");
        }
    }
    assert_ne!(ada.link(), bob.link());
    mailing.vote(ada, "approve").expect(200);
    assert_eq!(mailing.vote(ada, "reject").problem(409), "link_used");
    let voted = mailing.vote(bob, "approve").expect(200);
    assert_eq!(voted["approval"]["outcome"], "approve");
    let mails = mailing.smtp.wait(4);
    let ended = to(&mails, "ada@example.org")[1];
    assert_eq!(ended.header("subject"), "approve: Release 1.0? [release]");
    assert!(ended.text.contains("Outcome: approve") && ended.text.contains("bob: approve"), "{}", ended.text);
    assert!(!ended.text.contains("https://"), "there is nothing to vote on: {}", ended.text);
}

#[test]
fn the_page_of_a_mail_loads_nothing_and_headers_cannot_be_added() {
    let mailing = Mailing::new("", "");
    let attack =
        "1.0?\r\nBcc: eve@example.org\r\n\r\n<img src='https://evil.example/pixel'><script>alert(1)</script>\u{202e}";
    mailing.start("r1", attack);
    for mail in mailing.smtp.wait(2) {
        assert_eq!(mail.to.len(), 1);
        assert!(!mail.headers.iter().any(|(name, _)| name == "bcc"), "{}", mail.raw);
        for name in ["subject", "from", "to", "message-id", "date"] {
            assert!(!mail.header(name).is_empty());
        }
        for remote in ["src=", "<img", "<script", "url(", "<link", "@import"] {
            assert!(!mail.html.replace("&lt;img src=&#39;", "").contains(remote), "{remote}: {}", mail.html);
        }
        assert!(!mail.text.contains('\u{202e}') && !mail.html.contains('\u{202e}'));
        assert_eq!(mail.html.matches("href=").count(), 1, "{}", mail.html);
    }
}

#[test]
fn a_mail_that_fails_is_repeated_with_its_id_and_changes_nothing_for_the_run() {
    let mailing = Mailing::new("", "");
    mailing.smtp.reject_next("ada@example.org", 1);
    mailing.start("r1", "1.0");
    let mails = mailing.smtp.wait(2);
    assert_eq!(to(&mails, "ada@example.org").len(), 1, "it came in a later attempt");
    assert_eq!(mailing.server.get("/runs/r1").expect(200)["status"], "waiting_people");
    assert_eq!(mailing.vote(to(&mails, "ada@example.org")[0], "approve").status, 200);
}

#[test]
fn people_are_reminded_once_in_a_time_and_new_approvers_get_the_escalation() {
    let options = "reminder_interval_seconds: 1, reminder_max_count: 3, escalate_after: 4s, escalate_to: [dee]";
    let mailing = Mailing::new("reminder_cooldown = \"1h\"\n", options);
    mailing.start("r1", "1.0");
    let mails = mailing.smtp.wait(5);
    let subjects =
        |address| to(&mails, address).iter().map(|mail| mail.header("subject").to_owned()).collect::<Vec<_>>();
    for address in ["ada@example.org", "bob@example.org"] {
        assert_eq!(subjects(address), ["Release 1.0? [release]", "Reminder: Release 1.0? [release]"], "one of three");
    }
    assert_eq!(subjects("dee@example.org"), ["Escalated: Release 1.0? [release]"]);
    let escalated = to(&mails, "dee@example.org")[0];
    assert!(escalated.text.contains("was not approved in time"), "{}", escalated.text);
    assert_eq!(mailing.vote(escalated, "approve").expect(200)["user"], "dee");
}

#[test]
fn a_person_who_has_voted_is_not_reminded() {
    let mailing = Mailing::new("reminder_cooldown = \"0s\"\n", "reminder_interval_seconds: 1, reminder_max_count: 1");
    mailing.start("r1", "1.0");
    let mails = mailing.smtp.wait(2);
    mailing.vote(to(&mails, "ada@example.org")[0], "approve").expect(200);
    let mails = mailing.smtp.wait(3);
    assert_eq!(to(&mails, "ada@example.org").len(), 1);
    assert!(to(&mails, "bob@example.org")[1].header("subject").starts_with("Reminder: "));
}

#[test]
fn secrets_are_masked_in_mails() {
    let mailing = Mailing::new("", "");
    let text = ASK.replace("Release {{input}}?", "Use {{metadata.api_key}}?").replace(", OPTIONS", "");
    let saved = mailing.server.post("/workflows", &json!({"text": text, "name": "secret"}));
    assert_eq!(saved.status, 201, "{}", saved.text);
    let body = json!({"workflow": "secret", "inputs": {"input": "x", "metadata": {"api_key": "canary-5ecret"}}});
    mailing.server.post("/runs?wait=30s", &body).expect(200);
    for mail in mailing.smtp.wait(2) {
        assert!(mail.text.contains("Use ***?") && !mail.raw.contains("canary") && !mail.text.contains("canary"));
        assert_eq!(mail.header("subject"), "Use ***? [secret]");
    }
    assert_eq!(mailing.server.get("/settings/webhooks").expect(200), Value::Array(Vec::new()));
}
