//! A real SMTP server that keeps the mails, and rejects those to some mail boxes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::client::PATIENCE;

/// A mail as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    /// The recipients of the envelope.
    pub(crate) to: Vec<String>,
    /// The headers by lower-case name, with folded lines joined.
    pub(crate) headers: Vec<(String, String)>,
    /// The text part and the page, decoded.
    pub(crate) text: String,
    pub(crate) html: String,
    /// Everything as it came.
    pub(crate) raw: String,
}

impl Mail {
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut values = self.headers.iter().filter(|(known, _)| known == name);
        let value = values.next().unwrap_or_else(|| panic!("there is no header {name}: {}", self.raw));
        assert!(values.next().is_none(), "there are two headers {name}: {}", self.raw);
        &value.1
    }

    /// The link to vote.
    #[track_caller]
    pub(crate) fn link(&self) -> String {
        let line = self.text.lines().find(|line| line.starts_with("http"));
        line.unwrap_or_else(|| panic!("there is no link: {}", self.text)).to_owned()
    }
}

/// The server.
pub(crate) struct Smtp {
    pub(crate) port: u16,
    mails: Arc<Mutex<Vec<Mail>>>,
    /// How many more mails to a mail box are rejected for now.
    busy: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Smtp {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (mails, busy) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(BTreeMap::new())));
        let server = Self { port, mails: Arc::clone(&mails), busy: Arc::clone(&busy) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mails, busy) = (Arc::clone(&mails), Arc::clone(&busy));
                thread::spawn(move || converse(stream, &mails, &busy));
            }
        });
        server
    }

    /// Rejects the next mails to a mail box with a temporary error.
    pub(crate) fn reject_next(&self, to: &str, times: u32) {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner).insert(to.to_owned(), times);
    }

    pub(crate) fn mails(&self) -> Vec<Mail> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until so many mails have come.
    #[track_caller]
    pub(crate) fn wait(&self, count: usize) -> Vec<Mail> {
        let begin = Instant::now();
        loop {
            let mails = self.mails();
            if mails.len() >= count {
                return mails;
            }
            assert!(begin.elapsed() < PATIENCE, "{} of {count} mails came: {mails:#?}", mails.len());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn converse(stream: TcpStream, mails: &Mutex<Vec<Mail>>, busy: &Mutex<BTreeMap<String, u32>>) {
    let mut out = stream.try_clone().expect("a stream has two ends");
    let mut say = |line: &str| out.write_all(format!("{line}\r\n").as_bytes()).is_ok();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut to = Vec::new();
    say("220 sink");
    while let Some(line) = lines.next() {
        let upper = line.to_ascii_uppercase();
        let is_open = if upper.starts_with("EHLO") {
            say("250 sink")
        } else if upper.starts_with("RCPT") {
            let address = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
            let mut busy = busy.lock().unwrap_or_else(PoisonError::into_inner);
            match busy.get_mut(&address).filter(|left| **left > 0) {
                Some(left) => {
                    *left -= 1;
                    say("451 come again")
                }
                None if address.starts_with("refused") => say("550 no such user"),
                None => {
                    to.push(address);
                    say("250 fine")
                }
            }
        } else if upper == "DATA" {
            say("354 continue");
            let raw: Vec<String> = lines.by_ref().take_while(|line| line != ".").collect();
            let mail = parsed(std::mem::take(&mut to), &raw.join("\n"));
            mails.lock().unwrap_or_else(PoisonError::into_inner).push(mail);
            say("250 kept")
        } else if upper == "QUIT" {
            say("221 bye");
            false
        } else {
            to.retain(|_| !upper.starts_with("RSET"));
            say("250 fine")
        };
        if !is_open {
            return;
        }
    }
}

fn parsed(to: Vec<String>, raw: &str) -> Mail {
    let (head, body) = raw.split_once("\n\n").unwrap_or((raw, ""));
    let headers = headers(head);
    let boundary =
        headers.iter().find(|(name, _)| name == "content-type").and_then(|(_, value)| value.split('"').nth(1));
    let (mut text, mut html) = (String::new(), String::new());
    for part in body.split(&format!("--{}", boundary.unwrap_or("no boundary"))) {
        let Some((head, content)) = part.trim_start_matches('\n').split_once("\n\n") else { continue };
        let head = self::headers(head);
        let value = |name: &str| head.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        let content = decoded(content, value("content-transfer-encoding"));
        if value("content-type").starts_with("text/html") {
            html = content;
        } else {
            text = content;
        }
    }
    Mail { to, headers, text, html, raw: raw.to_owned() }
}

fn headers(head: &str) -> Vec<(String, String)> {
    let unfolded = head.replace("\n ", " ").replace("\n\t", " ");
    let pairs = unfolded.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect()
}

fn decoded(content: &str, encoding: &str) -> String {
    match encoding {
        "base64" => {
            let bytes = STANDARD.decode(content.split_whitespace().collect::<String>()).expect("base64");
            String::from_utf8(bytes).expect("text").replace("\r\n", "\n")
        }
        "quoted-printable" => {
            let joined = content.replace("=\n", "");
            let mut bytes = Vec::new();
            let mut rest = joined.as_bytes();
            while let Some((first, after)) = rest.split_first() {
                let hex = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
                if let (b'=', Some(byte)) = (first, hex) {
                    bytes.push(byte);
                    rest = &after[2..];
                } else {
                    bytes.push(*first);
                    rest = after;
                }
            }
            String::from_utf8(bytes).expect("text")
        }
        _ => content.to_owned(),
    }
}
