//! The web page over HTTP. The browser tests in `web/e2e` show that it works; these also hold for a program that was built without it.

use crate::client::Server;

const HTML: (&str, &str) = ("accept", "text/html");

#[test]
fn the_root_is_the_page_or_says_how_to_add_it() {
    let server = Server::demo();
    let root = server.send("GET", "//", &[HTML], "");
    assert_eq!(root.status, 200, "{}", root.text);
    assert_eq!(root.headers["content-type"], "text/html; charset=utf-8");
    if root.text.contains("make web") {
        assert_eq!(server.send("GET", "//runs", &[HTML], "").status, 404);
        return;
    }
    let policy = &root.headers["content-security-policy"];
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"), "{policy}");
    assert_eq!(root.headers["cache-control"], "no-cache");
    for path in ["//runs/r-1", "//workflows/a/versions", "//settings/people"] {
        assert_eq!(server.send("GET", path, &[HTML], "").status, 200, "{path}");
    }
    // A page that does not exist is still shown by the application.
    let unknown = server.send("GET", "//nope", &[HTML], "");
    assert_eq!((unknown.status, unknown.text.contains("id=\"root\"")), (404, true));
}

#[test]
fn programs_get_problems_instead_of_pages() {
    let server = Server::demo();
    for path in ["//nope", "//api/v1/nope", "//assets/nope.js", "//index.html"] {
        assert_eq!(server.send("GET", path, &[], "").problem(404), "not_found", "{path}");
    }
    assert_eq!(server.send("POST", "//runs", &[HTML], "").problem(404), "not_found");
    assert_eq!(server.send("GET", "//api/nope", &[HTML], "").problem(404), "not_found");
}

#[test]
fn a_base_path_holds_for_the_page() {
    let server = Server::start(&["serve", "--demo", "--listen", "127.0.0.1:0", "--base-path", "/flows"]);
    let root = server.send("GET", "//flows/", &[HTML], "");
    assert_eq!(root.status, 200, "{}", root.text);
    assert!(!root.text.contains("=\"./"), "{}", root.text);
    assert_eq!(server.send("GET", "//runs", &[HTML], "").status, 404);
}
