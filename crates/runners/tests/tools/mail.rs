//! Mail to a real SMTP server that stores the mails.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::closed::Closed;
use super::{call, failure, judged, perform, tools};
use branchpoint_runners::runtime;

/// A server that accepts every mail, except for those to `refused@` and `later@`.
struct Sink {
    port: u16,
    mails: Arc<Mutex<Vec<String>>>,
}

impl Sink {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let mails = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&mails);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                converse(stream, &list);
            }
        });
        Self { port, mails }
    }

    fn mails(&self) -> Vec<String> {
        self.mails.lock().expect("no thread panics while holding it").clone()
    }

    fn settings(&self) -> String {
        format!("[mail]\nurl = \"smtp://127.0.0.1:{}\"\nfrom = \"House <house@example.org>\"", self.port)
    }
}

fn converse(stream: TcpStream, mails: &Mutex<Vec<String>>) {
    let mut out = stream.try_clone().expect("a stream has two ends");
    let mut say = |line: &str| out.write_all(format!("{line}\r\n").as_bytes()).is_ok();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut mail = String::new();
    say("220 sink");
    while let Some(line) = lines.next() {
        let upper = line.to_ascii_uppercase();
        mail += &line;
        mail.push('\n');
        let is_open = if upper.starts_with("EHLO") {
            say("250-sink\r\n250 AUTH PLAIN LOGIN")
        } else if upper.starts_with("RCPT") && upper.contains("REFUSED@") {
            say("550 no such user")
        } else if upper.starts_with("RCPT") && upper.contains("LATER@") {
            say("451 come again")
        } else if upper == "DATA" {
            say("354 go on");
            for line in lines.by_ref().take_while(|line| line != ".") {
                mail += &line;
                mail.push('\n');
            }
            mails.lock().expect("no thread panics while holding it").push(std::mem::take(&mut mail));
            say("250 kept")
        } else if upper == "QUIT" {
            say("221 bye");
            false
        } else if upper.starts_with("AUTH") {
            say("235 welcome")
        } else {
            say("250 fine")
        };
        if !is_open {
            return;
        }
    }
}

#[test]
fn a_mail_is_sent_to_all_recipients_with_both_bodies() {
    let sink = Sink::new();
    let input = r#"{"to": ["a@example.org", "B <b@example.org>"], "cc": "c@example.org, d@example.org", "bcc": "e@example.org",
        "subject": "Grüße", "text_body": "plain words", "html_body": "<p>rich words</p>"}"#;
    let tools = tools(&sink.settings());
    assert_eq!(runtime().block_on(tools.unavailable_reason(&super::effect("mail", "{}"))), None);
    let id = judged(&tools, &call("mail", "{}", input)).to_string();
    assert_eq!(judged(&tools, &call("mail", "{}", input)).to_string(), id, "the same call has the same id");
    let mail = &sink.mails()[0];
    for recipient in ["a", "b", "c", "d", "e"] {
        assert!(mail.contains(&format!("RCPT TO:<{recipient}@example.org>")), "{mail}");
    }
    assert!(mail.contains("MAIL FROM:<house@example.org>") && mail.contains(&format!("Message-ID: {id}")), "{mail}");
    assert!(mail.contains("plain words") && mail.contains("<p>rich words</p>"), "{mail}");
    assert!(!mail.contains("Bcc:"), "recipients do not see each other: {mail}");
}

#[test]
fn a_mail_can_be_plain_text_only() {
    let sink = Sink::new();
    judged(&tools(&sink.settings()), &call("mail", "{}", r#"{"to": "a@example.org", "text_body": "the input"}"#));
    assert!(sink.mails()[0].contains("the input"));
}

#[test]
fn the_password_comes_from_the_environment() {
    let sink = Sink::new();
    let from = "from = \"house@example.org\"\npassword_env = \"TEST_PASSWORD\"";
    let tools = tools(&format!("[mail]\nurl = \"smtp://me@127.0.0.1:{}\"\n{from}", sink.port));
    judged(&tools, &call("mail", "{}", r#"{"to": "a@example.org", "text_body": "x"}"#));
    // The name and the password, each after a NUL byte, in base64.
    assert!(sink.mails()[0].contains("AUTH PLAIN AG1lAHRlc3RfcGFzc3dvcmQ="), "{}", sink.mails()[0]);
}

#[test]
fn the_status_of_the_server_decides_whether_another_attempt_makes_sense() {
    let sink = Sink::new();
    let tools = tools(&sink.settings());
    for (to, again) in [("refused@example.org", false), ("later@example.org", true)] {
        let failed = failure(perform(&tools, &call("mail", "{}", &format!(r#"{{"to": "{to}", "text_body": "x"}}"#))));
        assert!(failed.answered && failed.retry == again.into(), "{failed:?}");
    }
    let closed = Closed::new();
    let url = format!("smtp://127.0.0.1:{}", closed.port());
    let tools = super::tools(&format!("[mail]\nurl = \"{url}\"\nfrom = \"h@example.org\""));
    let failed = failure(perform(&tools, &call("mail", "{}", r#"{"to": "a@example.org", "text_body": "x"}"#)));
    assert!(!failed.answered && failed.retry.allows_retry(), "{failed:?}");
}

#[test]
fn a_mail_without_recipients_or_with_line_breaks_in_addresses_is_rejected() {
    let sink = Sink::new();
    let tools = tools(&sink.settings());
    for to in [r#""""#, "[]", r#""no address""#, r#""a@example.org\r\nBcc: x@example.org""#] {
        let failed = failure(perform(&tools, &call("mail", "{}", &format!(r#"{{"to": {to}, "text_body": "x"}}"#))));
        assert!(!failed.retry.allows_retry() && &*failed.kind == "step_failed", "{to}: {failed:?}");
    }
    assert!(sink.mails().is_empty());
    let subject = r#"{"to": "a@example.org", "subject": "x\r\nBcc: y@example.org", "text_body": "x"}"#;
    perform(&tools, &call("mail", "{}", subject));
    assert!(sink.mails().iter().all(|mail| !mail.lines().any(|line| line.starts_with("Bcc:"))));
}

#[test]
fn invalid_settings_are_reported_before_a_run() {
    for (settings, expected) in [
        ("url = \"smtp://h\"\nfrom = \"somewhere\"", "from"),
        ("url = \"smtp://u:p@h\"\nfrom = \"a@b.example\"", "password"),
        ("url = \"http://h\"\nfrom = \"a@b.example\"", "url"),
        ("url = \"smtps://u@h\"\nfrom = \"a@b.example\"\npassword_env = \"NOT_SET\"", "NOT_SET"),
        ("url = \"smtp://u@h?tls=required\"\nfrom = \"a@b.example\"\npassword_env = \"NOT_SET\"", "NOT_SET"),
        ("url = \"smtp://u@127.0.0.1\"\nfrom = \"a@b.example\"\npassword_env = \"NOT_SET\"", "NOT_SET"),
        ("url = \"smtp://u@h\"\nfrom = \"a@b.example\"\npassword_env = \"TEST_P\"", "tls=required"),
        ("url = \"smtp://u@h?tls=opportunistic\"\nfrom = \"a@b.example\"\npassword_env = \"TEST_P\"", "tls=required"),
    ] {
        let reason = runtime()
            .block_on(tools(&format!("[mail]\n{settings}")).unavailable_reason(&super::effect("mail", "{}")))
            .unwrap_or_default();
        assert!(reason.contains(expected), "{settings}: {reason}");
    }
}
