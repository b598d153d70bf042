//! Sign-in with a real OpenID Connect provider, the Python package `oidc-provider-mock`, and attacks on it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::{Response, Server};
use crate::package;

/// A provider with the users `ada` (an engineer) and `eve` (in no group of the server); it ends with the test.
struct Provider {
    child: Child,
    address: String,
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Provider {
    /// `None` if the package cannot be installed. That is a failure in CI.
    fn start() -> Option<Self> {
        let program = package::installed("oidc-provider-mock-0.3.4", "bin/python", |folder: &Path| {
            let mut environment = Command::new("python3");
            environment.args(["-m", "venv"]).arg(folder);
            let mut pip = Command::new(folder.join("bin/python"));
            pip.args(["-m", "pip", "install", "--quiet", "oidc-provider-mock==0.3.4"]);
            vec![environment, pip]
        });
        let python = match program {
            Ok(program) => program,
            Err(reason) if std::env::var("CI").is_ok_and(|ci| ci == "true") => {
                panic!("oidc-provider-mock is not installed: {reason}")
            }
            Err(reason) => {
                println!("skipped, because oidc-provider-mock cannot be installed here: {reason}");
                return None;
            }
        };
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let user = |name: &str, group: &str| {
            format!(
                r#"{{"sub": "{name}", "email": "{name}@example.com", "email_verified": true, "groups": ["{group}"]}}"#
            )
        };
        let mut command = Command::new(python);
        command.args(["-m", "oidc_provider_mock", "--port", &port.to_string(), "--require-nonce", "true"]);
        command.args(["--user-claims", &user("ada", "engineers"), "--user-claims", &user("eve", "guests")]);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = quiet.spawn().expect("python was installed");
        let provider = Self { child, address: format!("127.0.0.1:{port}") };
        let begin = Instant::now();
        while TcpStream::connect(&provider.address).is_err() {
            assert!(begin.elapsed() < crate::client::PATIENCE, "the provider does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(provider)
    }

    /// Signs a user in on the provider's page, and returns the address to which it sends the browser.
    fn sign_in(&self, page: &str, user: &str) -> String {
        let path = page.strip_prefix(&format!("http://{}", self.address)).expect("a page of the provider");
        let body = format!("sub={user}");
        let mut stream = TcpStream::connect(&self.address).expect("the provider listens");
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.0\r\nhost: {}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n{body}",
            self.address
        )
        .expect("the form is sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let location = response.lines().find_map(|line| line.strip_prefix("Location: "));
        location.unwrap_or_else(|| panic!("{response}")).trim().to_owned()
    }
}

/// A server that uses a provider.
struct Guarded {
    server: Server,
    _folder: tempfile::TempDir,
}

impl Guarded {
    fn new(provider: &Provider) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a store");
        let settings = format!(
            "[oidc]\nissuer = \"http://{}\"\nclient_id = \"branchpoint\"\nname = \"Example\"\n\
             client_secret_env = \"OIDC_SECRET\"\n[[oidc.roles]]\ngroup = \"engineers\"\nrole = \"editor\"\nworkflows = [\"support-*\"]\n\
             [secrets]\nfile = \"secrets.env\"\n",
            provider.address
        );
        std::fs::write(folder.path().join("secrets.env"), "OIDC_SECRET=canary\n").expect("the secret is written");
        std::fs::write(folder.path().join("branchpoint.toml"), settings).expect("the settings are written");
        let arguments = ["serve", "--store", "store.db", "--listen", "127.0.0.1:0", "--require-sign-in"];
        Self { server: Server::start_in(folder.path(), &arguments), _folder: folder }
    }

    fn with_cookies(&self, path: &str, cookies: &str) -> Response {
        self.server.send("GET", path, &[("cookie", cookies)], "")
    }

    /// Begins a sign-in: the provider's page and the cookie of the browser.
    fn begin(&self, to: &str) -> (String, String) {
        let begun = self.server.get(&format!("/sign-in/oidc?to={to}"));
        assert_eq!(begun.status, 303, "{}", begun.text);
        (begun.headers["location"].clone(), cookie(&begun, "branchpoint-sign-in"))
    }

    /// The path below the API to which the provider has sent the browser.
    fn callback(&self, location: &str) -> String {
        let start = format!("http://{}/api/v1", self.server.address);
        location.strip_prefix(&start).unwrap_or_else(|| panic!("{location} is not of this server")).to_owned()
    }
}

/// A cookie that a response sets, as a browser sends it.
fn cookie(response: &Response, name: &str) -> String {
    let set = response.headers["set-cookie"].lines().find(|line| line.starts_with(&format!("{name}=")));
    let set = set.unwrap_or_else(|| panic!("no cookie `{name}`: {:?}", response.headers));
    assert!(set.contains("; HttpOnly; SameSite=Lax"), "{set}");
    set.split(';').next().unwrap_or_default().to_owned()
}

#[test]
fn a_person_signs_in_with_the_provider() {
    let Some(provider) = Provider::start() else { return };
    let guarded = Guarded::new(&provider);
    let methods = guarded.server.get("/sign-in").expect(200);
    assert_eq!(methods["oidc"]["name"], "Example");
    let (page, state) = guarded.begin("%2Fruns%3Fstatus%3Dfailed");
    for part in ["response_type=code", "code_challenge_method=S256", "nonce=", "scope=openid+profile+email"] {
        assert!(page.contains(part), "{page}");
    }
    let back = guarded.callback(&provider.sign_in(&page, "ada"));
    let done = guarded.with_cookies(&back, &state);
    assert_eq!((done.status, done.headers["location"].as_str()), (303, "/runs?status=failed"), "{}", done.text);
    let me = guarded.with_cookies("/me", &cookie(&done, "branchpoint")).expect(200);
    assert_eq!((&me["user"], &me["role"]), (&"ada@example.com".into(), &"editor".into()));
    // A state and its code work once.
    assert_eq!(guarded.with_cookies(&back, &state).problem(401), "unauthenticated");
}

#[test]
fn a_person_without_a_role_is_rejected() {
    let Some(provider) = Provider::start() else { return };
    let guarded = Guarded::new(&provider);
    let (page, state) = guarded.begin("%2F");
    let back = guarded.callback(&provider.sign_in(&page, "eve"));
    let rejected = guarded.with_cookies(&back, &state);
    assert_eq!(rejected.problem(403), "forbidden");
    assert!(rejected.text.contains("no role of this server is for eve@example.com"), "{}", rejected.text);
}

#[test]
fn forged_sign_ins_are_rejected() {
    let Some(provider) = Provider::start() else { return };
    let guarded = Guarded::new(&provider);
    let (page, state) = guarded.begin("%2F%2Fevil.example");
    let back = guarded.callback(&provider.sign_in(&page, "ada"));
    // Another browser, a browser with another sign-in, and changed parameters.
    assert_eq!(guarded.server.get(&back).problem(401), "unauthenticated");
    let (_, other) = guarded.begin("%2F");
    assert_eq!(guarded.with_cookies(&back, &other).problem(401), "unauthenticated");
    let value = other.split('=').nth(1).unwrap_or_default();
    let swapped = format!("{}&state={value}", back.split("&state=").next().unwrap_or_default());
    assert_eq!(guarded.with_cookies(&swapped, &other).problem(401), "unauthenticated");
    for path in ["/sign-in/oidc/callback?state=x", "/sign-in/oidc/callback?state=x&code=y&error=%0d%0ax"] {
        assert_eq!(guarded.with_cookies(path, "branchpoint-sign-in=x").problem(401), "unauthenticated");
    }
    // The code was used up by the swapped request. A browser that begins again succeeds, and is not sent to another site.
    assert_eq!(guarded.with_cookies(&back, &state).problem(401), "unauthenticated");
    let (page, state) = guarded.begin("%2F%2Fevil.example");
    let back = guarded.callback(&provider.sign_in(&page, "ada"));
    let done = guarded.with_cookies(&back, &state);
    assert_eq!((done.status, done.headers["location"].as_str()), (303, "/"), "{}", done.text);
}

#[test]
fn a_provider_that_does_not_answer_is_an_error() {
    let folder = tempfile::tempdir().expect("there is room for a store");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let settings = format!(
        "[oidc]\nissuer = \"http://127.0.0.1:{port}\"\nclient_id = \"branchpoint\"\n[[oidc.roles]]\nrole = \"viewer\"\n"
    );
    std::fs::write(folder.path().join("branchpoint.toml"), settings).expect("the settings are written");
    let server = Server::start_in(folder.path(), &["serve", "--store", "store.db", "--listen", "127.0.0.1:0"]);
    let begun = server.get("/sign-in/oidc");
    assert_eq!(begun.problem(503), "unavailable");
    assert!(begun.text.contains(&format!("http://127.0.0.1:{port}")), "{}", begun.text);
}
