//! Who may depend on whom, read from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};

use crate::tree::{expect_none, root, run};

/// The dependency table: each crate of ours, and which of ours it may use. A crate that does not exist yet has its row
/// already, so that it is born with its rule.
const TABLE: &[(&str, &[&str])] = &[
    ("branchpoint-expr", &[]),
    ("branchpoint-core", &["branchpoint-expr"]),
    ("branchpoint-schema", &["branchpoint-expr"]),
    ("branchpoint-dialects", &["branchpoint-expr", "branchpoint-core", "branchpoint-schema"]),
    ("branchpoint-runners", &["branchpoint-expr", "branchpoint-core", "branchpoint-schema"]),
    ("branchpoint-backend", &["branchpoint-expr", "branchpoint-core", "branchpoint-runners"]),
    ("branchpoint-host", &["branchpoint-expr", "branchpoint-core", "branchpoint-runners", "branchpoint-backend"]),
    ("branchpoint-restate", &["branchpoint-expr", "branchpoint-core", "branchpoint-runners", "branchpoint-backend"]),
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
    let metadata = resolved_metadata();
    let mut complaints = Vec::new();
    for name in PURE {
        // A crate of the table that does not exist yet has nothing to check; expr always exists.
        let Some(id) = member_id(&metadata, name) else {
            assert_ne!(*name, "branchpoint-expr", "cargo metadata lists no branchpoint-expr");
            continue;
        };
        complaints.extend(impure_dependencies(&metadata, name, &id));
    }
    expect_none(
        &complaints,
        "drop the dependency, turn off the feature that brings it in, or move the code to a host crate; \
         `cargo tree -e normal -i <crate>` shows the way it came",
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

/// What a pure crate reaches over normal dependencies and must not, each with the crate that brings it in.
fn impure_dependencies(metadata: &Value, name: &str, id: &str) -> Vec<String> {
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"], "nodes").iter().map(|node| (text(node, "id"), node)).collect();
    let names: BTreeMap<&str, &str> =
        packages(metadata).map(|package| (text(package, "id"), text(package, "name"))).collect();
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::from([id]);
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        let node = nodes.get(id).unwrap_or_else(|| panic!("cargo metadata resolves no node {id}"));
        for edge in list(node, "deps") {
            let normal = list(edge, "dep_kinds").iter().any(|kind| kind["kind"].is_null());
            let target = text(edge, "pkg");
            if !normal || !seen.insert(target) {
                continue;
            }
            open.push(target);
            if let Some((impure, what)) = IMPURE.iter().find(|(impure, _)| *impure == names[target]) {
                complaints.push(format!("{name} reaches {impure} ({what}) through {}", names[id]));
            }
        }
    }
    complaints
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

fn member_id(metadata: &Value, name: &str) -> Option<String> {
    let members = list(metadata, "workspace_members");
    packages(metadata)
        .find(|package| text(package, "name") == name && members.contains(&package["id"]))
        .map(|package| text(package, "id").to_owned())
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

/// A tree `ours -> middle -> last`, the last edge of the given kind.
fn chain(last: &str, kind: Option<&str>) -> Value {
    let edge = |target: &str, kind: Option<&str>| json!({ "pkg": target, "dep_kinds": [{ "kind": kind }] });
    json!({
        "packages": [
            { "name": "ours", "id": "ours" }, { "name": "middle", "id": "middle" }, { "name": last, "id": last }
        ],
        "resolve": { "nodes": [
            { "id": "ours", "features": [], "deps": [edge("middle", None)] },
            { "id": "middle", "features": [], "deps": [edge(last, kind)] },
            { "id": last, "features": ["arbitrary_precision"], "deps": [] },
        ] }
    })
}

#[test]
fn an_impure_crate_is_found_at_any_depth() {
    let complaints = impure_dependencies(&chain("tokio", None), "ours", "ours");
    assert_eq!(complaints, ["ours reaches tokio (async) through middle"]);
}

#[test]
fn build_and_dev_dependencies_are_not_part_of_the_program() {
    for kind in ["build", "dev"] {
        assert_eq!(impure_dependencies(&chain("tokio", Some(kind)), "ours", "ours"), Vec::<String>::new());
    }
}

#[test]
fn a_feature_is_found_on_the_package_that_has_it() {
    assert_eq!(packages_with_feature(&chain("serde_json", None), "serde_json", "arbitrary_precision").len(), 1);
    assert_eq!(packages_with_feature(&chain("serde_json", None), "serde_json", "std").len(), 0);
}
