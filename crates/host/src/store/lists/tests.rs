use std::collections::BTreeMap;

use branchpoint_backend::HourCount;
use branchpoint_core::ir::Status;

use super::*;
use crate::host::{Start, Ticket, testing};
use crate::store::{Document, Prune, Tags, Workflow, WorkflowNo};

const HOUR_MS: i64 = 3_600_000;

/// A store with runs of two workflows. Every second run of `a` has ended, and all runs of `b` have.
fn filled() -> (testing::Place, Store) {
    let place = testing::Place::new();
    let store = testing::open(&place.file());
    for name in ["a", "b"] {
        testing::save(&store, name, &testing::calling());
    }
    let many = "WITH RECURSIVE n (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < 199)
        INSERT INTO runs (id, workflow, part, semantics, status, seq, folder, started_ms, touched_ms, parent, effect, attempt,
            workflow_name)
        SELECT 'run-' || n, 1 + (n % 4 = 3), '', 1, iif(n % 2, 'completed', 'running'), 1, '', n / 3 * 1000, n * 1000,
            iif(n % 10 = 9, 1, NULL), 1, 1, iif(n % 4 = 3, 'b', 'a') FROM n";
    store.db.execute_batch(many).expect("it is written");
    for run in store.runs(&Filter::default()).expect("they are listed").into_iter().filter(|run| run.run.0 % 3 == 0) {
        let tag = |tags: &[&str]| Tags::new(tags.iter().copied()).expect("they are valid");
        store.tag(run.run, &tag(&["third"]), &tag(&["x"])).expect("it is tagged");
    }
    (place, store)
}

fn all_filters() -> Vec<Filter> {
    let mut filters = vec![Filter::default()];
    let mut double = |change: &dyn Fn(&mut Filter)| {
        let changed = filters.iter().cloned().map(|mut filter| {
            change(&mut filter);
            filter
        });
        filters = filters.iter().cloned().chain(changed.collect::<Vec<_>>()).collect();
    };
    double(&|filter| filter.status = Some(Status::Completed));
    double(&|filter| filter.workflow = Some("a".into()));
    double(&|filter| filter.tags = vec!["third".into()]);
    double(&|filter| filter.since_ms = Some(20_000));
    double(&|filter| filter.children = true);
    filters
}

#[test]
fn pages_of_every_filter_are_the_whole_list() {
    let (_place, store) = filled();
    let everything = store.runs(&Filter { children: true, ..Filter::default() }).expect("they are listed");
    assert_eq!(everything.len(), 200);
    for filter in all_filters() {
        let mut expected: Vec<&Run> = everything
            .iter()
            .filter(|run| filter.children || run.parent.is_none())
            .filter(|run| filter.status.is_none_or(|status| run.status == status))
            .filter(|run| filter.workflow.as_deref().is_none_or(|_| run.workflow == WorkflowNo(1)))
            .filter(|run| filter.since_ms.is_none_or(|since_ms| run.started_ms >= since_ms))
            .filter(|run| filter.tags.is_empty() || run.tags.as_slice() == ["third"])
            .collect();
        expected.sort_by_key(|run| std::cmp::Reverse(run.cursor()));
        let (mut listed, mut before) = (Vec::new(), None);
        loop {
            let page = Filter { before, limit: Some(7), ..filter.clone() };
            let runs = store.runs(&page).expect("it is a page");
            let Some(last) = runs.last() else { break };
            before = Some(last.cursor());
            listed.extend(runs.into_iter().map(|run| run.run));
        }
        assert_eq!(listed, expected.iter().map(|run| run.run).collect::<Vec<_>>(), "{filter:?}");
        assert!(!listed.is_empty(), "{filter:?}");
    }
}

/// The steps of the plan of a query, without looking each row up among the sessions.
fn plan(store: &Store, Query { sql, values }: Query) -> Vec<String> {
    let mut plan = store.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("it is a statement");
    let steps = plan.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).expect("it is explained");
    let steps = steps.map(|step| step.expect("it reads"));
    steps.filter(|step| step != "USING INDEX sqlite_autoindex_sessions_1 FOR IN-OPERATOR").collect()
}

/// A search that walks a list reads only the index of the list, and one that sorts its matches reads only these.
#[test]
fn searches_read_an_index_or_their_matches() {
    let (_place, store) = filled();
    let filter = Filter { limit: Some(20), ..Filter::default() };
    let steps = plan(&store, Query::new(&filter, Level::Top, None, Columns::Position));
    assert!(matches!(&steps[..], [one] if one.contains("INDEX runs_by_start")), "{steps:?}");
    let steps = plan(&store, Query::new(&filter, Level::Top, Some(&[1, 2]), Columns::All));
    let reads: Vec<&String> = steps.iter().filter(|step| step.contains("runs")).collect();
    assert!(matches!(&reads[..], [one] if one.contains("rowid=?")), "{steps:?}");
}

#[test]
fn pages_of_a_search_are_the_same_however_many_runs_match() {
    let (_place, store) = filled();
    // The starts are not in the order of the numbers, and there are more matches than a search sorts.
    let many = "WITH RECURSIVE n (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < 5999)
        INSERT INTO runs (id, workflow, part, semantics, status, seq, folder, started_ms, touched_ms, workflow_name)
        SELECT 'found-' || n, 1, '', 1, iif(n % 7, 'completed', 'failed'), 1, '', 100000 + n * 7919 % 6000 / 2, n, 'a' FROM n;
        INSERT INTO run_index (rowid, text)
        SELECT run, iif(run % 2, 'common', 'other') || iif(run % 500 = 0, ' seldom', '') FROM runs WHERE id LIKE 'found-%'";
    store.db.execute_batch(many).expect("it is written");
    let everything = store.runs(&Filter::default()).expect("they are listed");
    let is_found = |run: &&Run| run.id.starts_with("found-");
    let check = |words: &str, filter: Filter, matches: &dyn Fn(&&Run) -> bool| {
        let expected: Vec<RunNo> = everything
            .iter()
            .filter(is_found)
            .filter(|run| filter.status.is_none_or(|status| run.status == status))
            .filter(matches)
            .map(|run| run.run)
            .collect();
        let (mut listed, mut before) = (Vec::new(), None);
        loop {
            let filter = Filter { search: Some(words.into()), before, limit: Some(97), ..filter.clone() };
            let page = store.runs(&filter).expect("it is a page");
            before = page.last().map(Run::cursor);
            listed.extend(page.iter().map(|run| run.run));
            if page.len() < 97 {
                break;
            }
        }
        assert!(listed == expected && !listed.is_empty(), "{words} {filter:?}");
        let whole = store.runs(&Filter { search: Some(words.into()), ..filter }).expect("it is a list");
        assert_eq!(whole.into_iter().map(|run| run.run).collect::<Vec<_>>(), expected, "{words}");
    };
    let failed = || Filter { status: Some(Status::Failed), ..Filter::default() };
    for filter in [Filter::default(), failed()] {
        check("common", filter, &|run| run.run.0 % 2 == 1);
    }
    check("seldom", Filter::default(), &|run| run.run.0 % 500 == 0);
    check("other seldom", Filter::default(), &|run| run.run.0 % 500 == 0);
}

/// However many runs there are, a page reads little more than its rows.
#[test]
fn pages_sort_and_scan_nothing() {
    let (_place, store) = filled();
    let before = Some(Cursor { started_ms: 30_000, run: RunNo(100) });
    for filter in all_filters() {
        for before in [None, before] {
            let filter = Filter { before, limit: Some(20), ..filter.clone() };
            for (level, index) in [(Level::Top, " INDEX runs_by_"), (Level::Child, " INDEX child_runs_by_")] {
                let steps = plan(&store, Query::new(&filter, level, None, Columns::All));
                let expected = if filter.tags.is_empty() { vec![index] } else { vec!["tag=?", "rowid=?"] };
                let is_expected = steps.iter().zip(&expected).all(|(step, expected)| step.contains(expected));
                assert!(steps.len() == expected.len() && is_expected, "{level:?} {filter:?}: {steps:?}");
            }
        }
    }
}

#[test]
fn totals_and_hours_follow_what_happens_to_runs() {
    let place = testing::Place::new();
    let mut host = place.quiet_host();
    let workflow = testing::save(host.store(), "calling", &testing::calling());
    let totals = |host: &crate::host::Host, name: &str| -> Vec<(Status, u64)> {
        host.store().totals(Some(name)).expect("they are counted").into_iter().filter(|(_, runs)| *runs > 0).collect()
    };
    host.start(Start::new(workflow, "one".into(), branchpoint_expr::Value::Null), Ticket(1));
    host.turn(10).expect("the store works");
    host.start(Start::new(workflow, "two".into(), branchpoint_expr::Value::Null), Ticket(2));
    host.turn(HOUR_MS + 10).expect("the store works");
    assert_eq!(totals(&host, "calling"), [(Status::Running, 2)]);
    let one = host.store().run("one").expect("it reads").expect("it exists").run;
    host.send(one, branchpoint_core::Event::Cancel { reason: None }, Ticket(3));
    host.turn(2 * HOUR_MS).expect("the store works");
    assert_eq!(totals(&host, "calling"), [(Status::Running, 1), (Status::Cancelled, 1)]);
    assert_eq!(totals(&host, "another"), []);
    assert_eq!(host.store().counts().expect("they are counted"), [("cancelled".into(), 1), ("running".into(), 1)]);
    let hours = [
        HourCount { hour_ms: 0, started: 1, ..HourCount::default() },
        HourCount { hour_ms: HOUR_MS, started: 1, ..HourCount::default() },
        HourCount { hour_ms: 2 * HOUR_MS, cancelled: 1, ..HourCount::default() },
    ];
    assert_eq!(host.store().hourly(0, None).expect("they are counted"), hours);
    assert_eq!(host.store().hourly(HOUR_MS + 5, Some("calling")).expect("they are counted"), hours[1..]);
    assert_eq!(host.store().hourly(0, Some("another")).expect("they are counted"), []);
    let which = Prune { before_ms: i64::MAX, statuses: Vec::new(), dry_run: false };
    host.store().prune(&which).expect("it is pruned");
    assert_eq!(totals(&host, "calling"), [(Status::Running, 1)]);
    assert_eq!(host.store().hourly(0, None).expect("they are counted"), hours, "pruned runs still count");
}

#[test]
fn a_document_that_is_saved_later_does_not_rename_runs() {
    let (_place, host, run) = testing::started(&testing::calling());
    let text = |text: &str| text.to_owned();
    let document =
        Document { name: text("renamed"), dialect: text("test"), origin: text("test"), text: text("changed") };
    let changed = Workflow { document: &document, program: &testing::calling(), children: &BTreeMap::new() };
    host.store().save(changed, 0).expect("it is saved");
    let of = |name: &str| Filter { workflow: Some(name.into()), ..Filter::default() };
    let runs_of = |name| host.store().runs(&of(name)).expect("they are listed").into_iter().map(|run| run.run);
    assert_eq!(runs_of("workflow").collect::<Vec<_>>(), [run]);
    assert_eq!(runs_of("renamed").count(), 0);
}

#[test]
fn tags_have_limits_and_go_with_their_run() {
    let (_place, mut host, run) = testing::started(&testing::calling());
    let numbered = |count: usize| Tags::new((0..count).map(|number| format!("tag {number}")));
    let none = Tags::default();
    host.store().tag(run, &numbered(20).expect("they are valid"), &none).expect("so many are possible");
    let error = host.store().tag(run, &Tags::new(["one more"]).expect("it is valid"), &none).expect_err("too many");
    assert!(error.to_string().contains("at most 20 tags"), "{error}");
    assert_eq!(host.store().row(run).expect("it reads").tags.as_slice().len(), 20);
    assert!(numbered(21).is_err());
    for invalid in ["", " x", "x\n", &"x".repeat(65)] {
        assert!(Tags::new([invalid]).is_err(), "{invalid:?}");
    }
    host.send(run, branchpoint_core::Event::Cancel { reason: None }, Ticket(1));
    testing::turns(&mut host, 2, 10);
    let which = Prune { before_ms: i64::MAX, statuses: Vec::new(), dry_run: false };
    host.store().prune(&which).expect("it is pruned");
    assert_eq!(host.store().value::<u32>("SELECT count(*) FROM run_tags", []).expect("it reads"), 0);
}
