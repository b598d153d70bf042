//! Who may depend on whom, read from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};

use crate::tree::{expect_none, root, run};

/// The dependency table: each crate of ours, and which of ours it may use.
const TABLE: &[(&str, &[&str])] = &[
    ("branchpoint-expr", &[]),
    ("branchpoint-core", &["branchpoint-expr"]),
    ("branchpoint-schema", &["branchpoint-expr"]),
    ("branchpoint-dialects", &["branchpoint-expr", "branchpoint-core", "branchpoint-schema"]),
    ("branchpoint-runners", &["branchpoint-expr", "branchpoint-core", "branchpoint-schema"]),
    ("branchpoint-backend", &["branchpoint-expr", "branchpoint-core", "branchpoint-runners"]),
    ("branchpoint-host", &["branchpoint-expr", "branchpoint-core", "branchpoint-runners", "branchpoint-backend"]),
    ("branchpoint-restate", &["branchpoint-expr", "branchpoint-core", "branchpoint-runners", "branchpoint-backend"]),
    ("branchpoint-client", &["branchpoint-expr", "branchpoint-core", "branchpoint-runners", "branchpoint-backend"]),
    (
        "branchpoint-server",
        &[
            "branchpoint-expr",
            "branchpoint-core",
            "branchpoint-dialects",
            "branchpoint-runners",
            "branchpoint-backend",
            "branchpoint-host",
            "branchpoint-restate",
        ],
    ),
    (
        "branchpoint",
        &[
            "branchpoint-expr",
            "branchpoint-core",
            "branchpoint-dialects",
            "branchpoint-runners",
            "branchpoint-backend",
            "branchpoint-client",
            "branchpoint-host",
            "branchpoint-restate",
            "branchpoint-server",
        ],
    ),
    (
        "branchpoint-sim",
        &[
            "branchpoint-expr",
            "branchpoint-core",
            "branchpoint-dialects",
            "branchpoint-runners",
            "branchpoint-backend",
            "branchpoint-host",
            "branchpoint-restate",
        ],
    ),
];

/// The crates whose answers may depend on nothing but their arguments.
const PURE: &[&str] = &["branchpoint-expr", "branchpoint-core"];

/// What must not stand anywhere in the tree of a pure crate, and why.
const IMPURE: &[(&str, &str)] = &[
    ("tokio", "async"),
    ("async-std", "async"),
    ("smol", "async"),
    ("mio", "I/O"),
    ("socket2", "I/O"),
    ("rusqlite", "storage"),
    ("libsqlite3-sys", "storage"),
    ("sqlx", "storage"),
    ("chrono", "a clock"),
    ("time", "a clock"),
    ("rand", "randomness"),
    ("getrandom", "randomness"),
    ("fastrand", "randomness"),
];

#[test]
fn our_crates_depend_on_each_other_only_as_the_table_allows() {
    let metadata = metadata(&["--no-deps"]);
    expect_none(
        &edges_outside_the_table(&metadata),
        "move the code to the crate that may hold it; if the design itself has changed, change the table in \
         crates/sim/tests/repo/dependencies.rs and the code map in ARCHITECTURE.md together",
    );
}

#[test]
fn inner_crates_reach_no_async_no_storage_no_clock_and_no_randomness() {
    let complaints: Vec<String> = PURE.iter().flat_map(|name| impure_dependencies(name, &tree_of(name))).collect();
    expect_none(
        &complaints,
        "drop the dependency, turn off the feature that brings it in, or move the code to a host crate; \
         `cargo tree -p <crate> -e normal -i <dependency>` shows the way it came",
    );
}

#[test]
fn serde_json_is_built_without_arbitrary_precision() {
    let metadata = resolved_metadata();
    expect_none(
        &packages_with_feature(&metadata, "serde_json", "arbitrary_precision"),
        "that feature changes what a number is for the whole build; `cargo tree -e features -i serde_json` shows who asks for it",
    );
}

/// Every edge between our crates that has no place in the table, whatever its kind: a dev-dependency on an outer crate
/// makes an inner crate's tests need the outer one, which is the same knot.
fn edges_outside_the_table(metadata: &Value) -> Vec<String> {
    let table: BTreeMap<&str, &[&str]> = TABLE.iter().copied().collect();
    let members: BTreeSet<&str> = packages(metadata).map(|package| text(package, "name")).collect();
    let mut complaints = Vec::new();
    for package in packages(metadata) {
        let name = text(package, "name");
        let Some(allowed) = table.get(name) else {
            complaints
                .push(format!("the crate {name} ({}) is not in the dependency table", text(package, "manifest_path")));
            continue;
        };
        for dependency in list(package, "dependencies") {
            let target = text(dependency, "name");
            let ours = table.contains_key(target) || members.contains(target);
            if ours && !allowed.contains(&target) {
                let kind = dependency["kind"].as_str().unwrap_or("normal");
                let allowed = if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") };
                complaints.push(format!("{name} depends on {target} ({kind}), but may use {allowed}"));
            }
        }
    }
    complaints
}

/// The names of the packages that a crate reaches over normal dependencies, a line for each. Features are those of the crate alone: another
/// crate of the workspace may turn on more of a shared dependency, and changes nothing of what this crate calls.
fn tree_of(name: &str) -> String {
    let mut command = cargo();
    command.current_dir(root()).args(["tree", "--offline", "--locked", "-p", name]);
    command.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let tree = run(&mut command, "run `cargo build` once, so that Cargo.lock is up to date");
    assert!(tree.starts_with(name), "cargo prints the tree of another crate: {tree}");
    tree
}

/// What a pure crate reaches and must not.
fn impure_dependencies(name: &str, tree: &str) -> BTreeSet<String> {
    let packages = tree.lines().filter_map(|line| line.split_whitespace().next());
    let impure = packages.filter_map(|package| IMPURE.iter().find(|(impure, _)| *impure == package));
    impure.map(|(package, what)| format!("{name} reaches {package} ({what})")).collect()
}

/// The packages of that name that are built with that feature.
fn packages_with_feature(metadata: &Value, name: &str, feature: &str) -> Vec<String> {
    let ids: BTreeSet<&str> =
        packages(metadata).filter(|package| text(package, "name") == name).map(|package| text(package, "id")).collect();
    assert!(!ids.is_empty(), "no {name} in the resolved tree: does the check still look for the right crate?");
    list(&metadata["resolve"], "nodes")
        .iter()
        .filter(|node| ids.contains(text(node, "id")))
        .filter(|node| list(node, "features").iter().any(|given| given == feature))
        .map(|node| format!("{} is built with the feature {feature}", text(node, "id")))
        .collect()
}

/// The whole tree for this platform. Other platforms' packages need not be on this machine.
fn resolved_metadata() -> Value {
    let version = run(cargo().arg("-vV"), "the repo checks ask cargo for the platform");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("`cargo -vV` names the host");
    metadata(&["--filter-platform", host])
}

fn metadata(arguments: &[&str]) -> Value {
    let output = run(
        cargo()
            .current_dir(root())
            .args(["metadata", "--format-version", "1", "--offline", "--locked"])
            .args(arguments),
        "run `cargo build` once, so that Cargo.lock is up to date and the packages are on this machine",
    );
    serde_json::from_str(&output).expect("cargo metadata prints JSON")
}

/// The cargo that runs this test.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    list(metadata, "packages").iter()
}

fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object[key].as_array().unwrap_or_else(|| panic!("cargo metadata has no list `{key}` where one belongs"))
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_else(|| panic!("cargo metadata has no text `{key}` where one belongs"))
}

/// Metadata of one crate with the given dependencies, `(name, kind)`.
fn one_crate(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
    let dependencies: Vec<Value> =
        dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
    json!({ "packages": [{ "name": name, "manifest_path": "x/Cargo.toml", "dependencies": dependencies }] })
}

#[test]
fn an_edge_of_any_kind_that_is_not_in_the_table_is_reported() {
    for kind in [None, Some("build"), Some("dev")] {
        let complaints = edges_outside_the_table(&one_crate("branchpoint-expr", &[("branchpoint-core", kind)]));
        assert_eq!(complaints.len(), 1, "{kind:?}");
        assert!(complaints[0].contains("branchpoint-expr depends on branchpoint-core"), "{}", complaints[0]);
    }
}

#[test]
fn an_edge_of_the_table_and_a_crate_of_others_are_fine() {
    let metadata = one_crate("branchpoint-core", &[("branchpoint-expr", None), ("serde", None)]);
    assert_eq!(edges_outside_the_table(&metadata), Vec::<String>::new());
}

#[test]
fn a_crate_without_a_row_is_reported() {
    let complaints = edges_outside_the_table(&one_crate("branchpoint-utils", &[]));
    assert!(complaints[0].contains("branchpoint-utils"), "{complaints:?}");
}

#[test]
fn the_table_has_no_cycle() {
    // Each crate may use only crates of earlier rows, or the row order of the design would lie.
    for (row, (name, allowed)) in TABLE.iter().enumerate() {
        for target in *allowed {
            assert!(TABLE[..row].iter().any(|(earlier, _)| earlier == target), "{name} may use {target}, a later row");
        }
    }
}

#[test]
fn an_impure_crate_is_found_at_any_depth() {
    let tree = "ours v0.1.0 (/x)\nmiddle v1.0.0\ntokio v1.2.3\ntokio-util v0.7.0\ntokio v1.2.3 (*)\n";
    assert_eq!(impure_dependencies("ours", tree), BTreeSet::from(["ours reaches tokio (async)".to_owned()]));
}

#[test]
fn the_tree_of_a_crate_has_its_dependencies() {
    assert!(tree_of("branchpoint-core").contains("\nserde v"), "the check would find nothing");
}

#[test]
fn a_feature_is_found_on_the_package_that_has_it() {
    let metadata = json!({
        "packages": [{ "name": "serde_json", "id": "json" }],
        "resolve": { "nodes": [{ "id": "json", "features": ["arbitrary_precision"], "deps": [] }] }
    });
    assert_eq!(packages_with_feature(&metadata, "serde_json", "arbitrary_precision").len(), 1);
    assert_eq!(packages_with_feature(&metadata, "serde_json", "std").len(), 0);
}
