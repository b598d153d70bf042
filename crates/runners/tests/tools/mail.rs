//! Mail to a real server of SMTP, which keeps what it gets.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::closed::Closed;
use super::{call, failure, judged, perform, tools};
use branchpoint_runners::runtime;

/// A server that takes every mail, except for those to `refused@` and `later@`.
struct Sink {
    port: u16,
    kept: Arc<Mutex<Vec<String>>>,
}

impl Sink {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&kept);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                converse(stream, &keep);
            }
        });
        Self { port, kept }
    }

    fn kept(&self) -> Vec<String> {
        self.kept.lock().expect("nobody panics while holding it").clone()
    }

    fn settings(&self) -> String {
        format!("[mail]\nurl = \"smtp://127.0.0.1:{}\"\nfrom = \"House <house@example.org>\"", self.port)
    }
}

fn converse(stream: TcpStream, keep: &Mutex<Vec<String>>) {
    let mut out = stream.try_clone().expect("a stream has two ends");
    let mut say = |line: &str| out.write_all(format!("{line}\r\n").as_bytes()).is_ok();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut mail = String::new();
    say("220 sink");
    while let Some(line) = lines.next() {
        let upper = line.to_ascii_uppercase();
        mail += &line;
        mail.push('\n');
        let said = if upper.starts_with("EHLO") {
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
            keep.lock().expect("nobody panics while holding it").push(std::mem::take(&mut mail));
            say("250 kept")
        } else if upper == "QUIT" {
            say("221 bye");
            false
        } else if upper.starts_with("AUTH") {
            say("235 welcome")
        } else {
            say("250 fine")
        };
        if !said {
            return;
        }
    }
}

#[test]
fn a_mail_goes_to_everybody_with_both_bodies() {
    let sink = Sink::new();
    let input = r#"{"to": ["a@example.org", "B <b@example.org>"], "cc": "c@example.org, d@example.org", "bcc": "e@example.org",
        "subject": "Grüße", "text_body": "plain words", "html_body": "<p>rich words</p>"}"#;
    let tools = tools(&sink.settings());
    assert_eq!(runtime().block_on(tools.unavailable_reason(&super::effect("mail", "{}"))), None);
    let id = judged(&tools, &call("mail", "{}", input)).to_string();
    assert_eq!(judged(&tools, &call("mail", "{}", input)).to_string(), id, "the same call has the same id");
    let mail = &sink.kept()[0];
    for recipient in ["a", "b", "c", "d", "e"] {
        assert!(mail.contains(&format!("RCPT TO:<{recipient}@example.org>")), "{mail}");
    }
    assert!(mail.contains("MAIL FROM:<house@example.org>") && mail.contains(&format!("Message-ID: {id}")), "{mail}");
    assert!(mail.contains("plain words") && mail.contains("<p>rich words</p>"), "{mail}");
    assert!(!mail.contains("Bcc:"), "nobody sees who else got it: {mail}");
}

#[test]
fn a_mail_can_be_plain_text_alone() {
    let sink = Sink::new();
    judged(&tools(&sink.settings()), &call("mail", "{}", r#"{"to": "a@example.org", "text_body": "the input"}"#));
    assert!(sink.kept()[0].contains("the input"));
}

#[test]
fn the_password_comes_from_the_environment() {
    let sink = Sink::new();
    let from = "from = \"house@example.org\"\npassword_env = \"TEST_PASSWORD\"";
    let tools = tools(&format!("[mail]\nurl = \"smtp://me@127.0.0.1:{}\"\n{from}", sink.port));
    judged(&tools, &call("mail", "{}", r#"{"to": "a@example.org", "text_body": "x"}"#));
    // The name and the password, each behind a zero, in base 64.
    assert!(sink.kept()[0].contains("AUTH PLAIN AG1lAHRlc3RfcGFzc3dvcmQ="), "{}", sink.kept()[0]);
}

#[test]
fn what_the_server_says_decides_whether_another_attempt_makes_sense() {
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
fn a_mail_to_nobody_and_lines_in_addresses_are_refused() {
    let sink = Sink::new();
    let tools = tools(&sink.settings());
    for to in [r#""""#, "[]", r#""no address""#, r#""a@example.org\r\nBcc: x@example.org""#] {
        let failed = failure(perform(&tools, &call("mail", "{}", &format!(r#"{{"to": {to}, "text_body": "x"}}"#))));
        assert!(!failed.retry.allows_retry() && &*failed.kind == "step_failed", "{to}: {failed:?}");
    }
    assert!(sink.kept().is_empty());
    let subject = r#"{"to": "a@example.org", "subject": "x\r\nBcc: y@example.org", "text_body": "x"}"#;
    perform(&tools, &call("mail", "{}", subject));
    assert!(sink.kept().iter().all(|mail| !mail.lines().any(|line| line.starts_with("Bcc:"))));
}

#[test]
fn settings_that_cannot_send_are_told_before_a_run() {
    for (settings, said) in [
        ("url = \"smtp://h\"\nfrom = \"nobody\"", "from"),
        ("url = \"smtp://u:p@h\"\nfrom = \"a@b.example\"", "password"),
        ("url = \"http://h\"\nfrom = \"a@b.example\"", "url"),
        ("url = \"smtps://u@h\"\nfrom = \"a@b.example\"\npassword_env = \"NOT_SET\"", "NOT_SET"),
        ("url = \"smtp://u@h?tls=required\"\nfrom = \"a@b.example\"\npassword_env = \"NOT_SET\"", "NOT_SET"),
        ("url = \"smtp://u@127.0.0.1\"\nfrom = \"a@b.example\"\npassword_env = \"NOT_SET\"", "NOT_SET"),
        ("url = \"smtp://u@h\"\nfrom = \"a@b.example\"\npassword_env = \"TEST_P\"", "tls=required"),
        ("url = \"smtp://u@h?tls=opportunistic\"\nfrom = \"a@b.example\"\npassword_env = \"TEST_P\"", "tls=required"),
    ] {
        let lacks = runtime()
            .block_on(tools(&format!("[mail]\n{settings}")).unavailable_reason(&super::effect("mail", "{}")))
            .unwrap_or_default();
        assert!(lacks.contains(said), "{settings}: {lacks}");
    }
}
