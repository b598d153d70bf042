//! Objects in a bucket of a real S3-compatible server, the Python package `moto`, and in the folder for files.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use branchpoint_core::RetryHint;
use branchpoint_expr::Value;
use branchpoint_runners::tools::Tools;
use branchpoint_runners::{Call, Secrets, runtime};

use super::peer::{Peer, response};
use super::{call, effect, failure, judged, package, perform, tools, value};

/// A server with the buckets `results` and `other`; it ends with the test.
struct Moto {
    child: Child,
    url: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Moto {
    /// `None` if the package cannot be installed. That is a failure in CI.
    fn start() -> Option<Self> {
        let python = package::installed("moto-5.2.5", "bin/python", |folder: &Path| {
            let mut environment = Command::new("python3");
            environment.args(["-m", "venv"]).arg(folder);
            let mut pip = Command::new(folder.join("bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "moto[server]==5.2.5"]);
            vec![environment, pip]
        });
        let python = match python {
            Ok(python) => python,
            Err(reason) if std::env::var("CI").is_ok_and(|ci| ci == "true") => {
                panic!("moto is not installed: {reason}")
            }
            Err(reason) => {
                println!("skipped, because moto[server] cannot be installed here: {reason}");
                return None;
            }
        };
        let mut server = Command::new(python);
        server.args(["-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]);
        let mut child = server.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("python was installed");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let url = lines.find_map(|line| {
            let line = line.ok()?;
            Some(line[line.find("http://127.0.0.1:")?..].trim().to_owned())
        });
        // The server writes a line for each request, and must not wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let moto = Self { child, url: url.expect("the server names its address") };
        for bucket in ["results", "other"] {
            moto.send("PUT", bucket);
        }
        Some(moto)
    }

    /// Sends a request without the library. The server needs a signature, but does not check it.
    fn send(&self, method: &str, path: &str) -> Value {
        let tools = tools("[http]\nallow_private_network = true");
        let signature =
            "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        let (url, headers) = (&self.url, format!(r#"{{"authorization": "{signature}"}}"#));
        let input = format!(r#"{{"method": "{method}", "url": "{url}/{path}", "headers": {headers}}}"#);
        judged(&tools, &call("http", r#"{"response": {"envelope": true}}"#, &input))
    }

    /// An object: its content and its media type.
    fn object(&self, path: &str) -> (Value, Value) {
        let object = self.send("GET", path);
        let field = |name: &str| object.get(name).cloned().unwrap_or_default();
        (field("output"), field("headers").get("content-type").cloned().unwrap_or_default())
    }

    fn tools(&self) -> Tools {
        tools(&settings(&self.url))
    }
}

fn settings(url: &str) -> String {
    format!(
        "[objects]\nendpoint = \"{url}\"\nbucket = \"results\"\nbuckets = [\"other\"]\n\
         access_key_env = \"TEST_ACCESS_KEY\"\nsecret_key_env = \"TEST_SECRET_KEY\"\nmax_bytes = 1000"
    )
}

fn write(fields: &str) -> Call {
    call("object_store", "{}", fields)
}

fn publish(fields: &str) -> Call {
    call("files", r#"{"fixed": {"operation": "publish"}}"#, fields)
}

fn load(key: &str) -> Call {
    call("files", r#"{"fixed": {"operation": "load"}}"#, &format!(r#"{{"path": "{key}"}}"#))
}

#[test]
fn an_object_is_written_to_a_real_server() {
    let Some(moto) = Moto::start() else { return };
    let tools = moto.tools();
    let page = r#"{"bucket": "other", "key": "a b/ä+%2F.html", "content": "<p>", "content_type": "text/html"}"#;
    let written = r#"{"bucket": "other", "key": "a b/ä+%2F.html", "bytes": 3}"#;
    assert_eq!(judged(&tools, &write(page)), value(written));
    assert_eq!(moto.object("other/a%20b/%C3%A4%2B%252F.html"), ("<p>".into(), "text/html".into()));
    // Without a bucket and a media type it is plain text in the default bucket. Another attempt writes the same object.
    for _ in 0..2 {
        judged(&tools, &write(r#"{"key": "note", "content": "hello"}"#));
    }
    assert_eq!(moto.object("results/note"), ("hello".into(), "text/plain".into()));
}

#[test]
fn a_published_content_is_loaded_from_the_server() {
    let Some(moto) = Moto::start() else { return };
    let tools = moto.tools();
    let mut article = publish(r#"{"content": {"code": "hunterhunter22"}}"#);
    article.sealed = Secrets::from_values(["hunterhunter22".to_owned()]);
    let published = judged(&tools, &article);
    let expected = r#"{"storage_key": "published/run-1/7", "mime": "application/json", "name": "7", "bytes": 14}"#;
    assert_eq!(published, value(expected));
    assert_eq!(judged(&tools, &article), published, "another attempt publishes the same object");
    assert_eq!(moto.object("results/published/run-1/7").1, "application/json".into());
    assert_eq!(judged(&tools, &load("published/run-1/7")), r#"{"code":"***"}"#.into());
    let named = judged(&tools, &publish(r#"{"path": "news/1", "content": "new", "content_type": "text/markdown"}"#));
    assert_eq!(named.get("storage_key"), Some(&"published/news/1".into()));
    assert_eq!(moto.object("results/published/news/1"), ("new".into(), "text/markdown".into()));
    let missing = failure(perform(&tools, &load("published/none")));
    assert!(missing.message.contains("404") && !missing.retry.allows_retry(), "{missing:?}");
}

#[test]
fn requests_that_cannot_be_performed_are_not_sent() {
    let tools = tools(&settings("http://127.0.0.1:9"));
    let long = "k".repeat(1025);
    let large = "c".repeat(1001);
    for (fields, expected) in [
        (r#"{"bucket": "foreign", "key": "k"}"#, "`buckets` under [objects]"),
        (r#"{"bucket": " ", "key": "k"}"#, "`bucket`"),
        (r#"{"content": "c"}"#, "`key`"),
        (r#"{"key": "/k"}"#, "not a valid object key"),
        (r#"{"key": "a//b"}"#, "not a valid object key"),
        (r#"{"key": "a/../b"}"#, "not a valid object key"),
        (r#"{"key": "k/"}"#, "not a valid object key"),
        (&format!(r#"{{"key": "{long}"}}"#), "1024 bytes"),
        (&format!(r#"{{"key": "k", "content": "{large}"}}"#), "max_bytes under [objects]"),
        (r#"{"key": "k", "content_type": "text"}"#, "not a media type"),
        (r#"{"key": "k", "content_type": "text/a\nb: c"}"#, "not a media type"),
    ] {
        let failed = failure(perform(&tools, &write(fields)));
        assert!(failed.message.contains(expected) && !failed.retry.allows_retry(), "{fields}: {failed:?}");
    }
    let mut secret = publish(r#"{"path": "hunterhunter22", "content": "c"}"#);
    secret.sealed = Secrets::from_values(["hunterhunter22".to_owned()]);
    assert!(failure(perform(&tools, &secret)).message.contains("contains a secret"));
}

#[test]
fn the_wait_of_a_busy_server_is_passed_on() {
    let peer = Peer::new(|_| response("503 Busy", &[("retry-after", "7")], "slow down, test_secret_key"));
    let failed = failure(perform(&tools(&settings(&peer.url(""))), &write(r#"{"key": "k", "content": "c"}"#)));
    assert_eq!((failed.retry, failed.answered), (RetryHint::After(7_000), true), "{failed:?}");
    assert!(failed.message.contains("503") && failed.message.contains("***"), "{failed:?}");
    let requests = peer.requests();
    assert_eq!(requests.len(), 1, "the run repeats attempts, the library does not");
    assert!(requests[0].headers["authorization"].starts_with("AWS4-HMAC-SHA256"), "{requests:?}");
}

#[test]
fn missing_credentials_are_reported_before_a_run() {
    let tools = tools("[objects]\nbucket = \"b\"\naccess_key_env = \"TEST_A\"\nsecret_key_env = \"NOT_SET\"");
    let files = |operation: &str| effect("files", &format!(r#"{{"fixed": {{"operation": "{operation}"}}}}"#));
    for effect in [effect("object_store", "{}"), files("publish"), files("load")] {
        let lacks = runtime().block_on(tools.unavailable_reason(&effect)).unwrap_or_default();
        assert!(lacks.contains("NOT_SET") && lacks.contains("[objects]"), "{lacks}");
    }
}

#[test]
fn without_a_service_contents_are_published_below_the_folder_for_files() {
    let dir = tempfile::tempdir().expect("there is room for a folder");
    let tools = tools(&format!("[files]\ndir = '{}'", dir.path().display()));
    let published = judged(&tools, &publish(r#"{"content": "hello", "content_type": "text/markdown"}"#));
    assert_eq!(published.get("mime"), Some(&"text/markdown".into()));
    assert_eq!(fs::read_to_string(dir.path().join("published/run-1/7")).expect("it is there"), "hello");
    assert_eq!(judged(&tools, &load("published/run-1/7")), "hello".into());
    for fields in [r#"{"path": "../x", "content": "c"}"#, r#"{"path": " ", "content": "c"}"#] {
        assert!(!failure(perform(&tools, &publish(fields))).retry.allows_retry(), "{fields}");
    }
    let wrong = write(r#"{"bucket": "b", "key": "k", "content": "c", "content_type": "text"}"#);
    assert!(failure(perform(&tools, &wrong)).message.contains("not a media type"));
}
