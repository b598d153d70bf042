//! Workflows on Restate beside a plain handler, on one node: `cargo bench -p branchpoint-sim --bench restate`.
//!
//! The plain handler and the workflows take turns, because the speed of a shared machine changes. The figures are medians of the rounds,
//! and the shares are those of neighbours.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use branchpoint_backend::{Document, Workflow};
use branchpoint_core::codec::encode_value;
use branchpoint_core::ir::BudgetLimits;
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Value};
use branchpoint_restate::messages::{Blob, StartMessage};
use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner, operator_client, runtime};
use branchpoint_sim::restate::{server, set_runner};
use restate_sdk::prelude::{Context, Endpoint, HandlerError, HttpServer};
use tokio::net::TcpListener;

const ROUNDS: usize = 5;
const CLIENTS: usize = 64;
const ROUND: Duration = Duration::from_secs(5);
const STEPS: u64 = 12;

struct Plain;

#[restate_sdk::service(client_visibility = "pub(crate)")]
impl Plain {
    /// As many recorded steps as the workflow has.
    #[handler]
    async fn steps(&self, ctx: Context<'_>, input: String) -> Result<String, HandlerError> {
        use restate_sdk::prelude::ContextSideEffects as _;
        let mut last = input;
        for _ in 0..STEPS {
            last = ctx.run(|| async { Ok("done".to_owned()) }).await?;
        }
        Ok(last)
    }
}

/// Answers every call at once.
struct AtOnce;

impl Runner for AtOnce {
    fn perform<'c>(&'c self, _: &'c Call, _: &'c CancellationToken) -> AnswerFuture<'c> {
        unreachable!("every call is answered at once")
    }

    fn answer_immediately(&self, _: &Call) -> Option<Answer> {
        Some(Answer::model("done"))
    }

    fn fact(&self, _: &str) -> Value {
        Value::Null
    }
}

/// The workflow of the benchmark of the embedded host, with steps of this type: a decision, one of two steps, and ten steps.
fn document(step: &str) -> String {
    let mut text = format!(
        "steps:\n  - id: route\n    step_type: if_else\n    if: \"input == 'left'\"\n    then_steps: [{{id: left, {step}}}]\n    else_steps: [{{id: right, {step}}}]\n"
    );
    for number in 0..10 {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  - {{id: s{number}, {step}}}");
    }
    text
}

/// Saves a workflow and returns its number.
fn saved(name: &str, text: &str) -> i64 {
    let loaded = load(text, Some(Dialect::Steps));
    let program = loaded.program.unwrap_or_else(|| panic!("the document does not load: {:?}", loaded.diagnostics));
    let document =
        Document { name: name.into(), dialect: "steps".into(), origin: String::new(), text: text.to_owned() };
    let workflow = Workflow { document: &document, program: &program, children: &BTreeMap::new() };
    runtime().block_on(server().client().save(workflow, 0)).expect("the workflow is saved").0
}

fn start_message(workflow: i64, input: &str) -> StartMessage {
    StartMessage {
        workflow,
        part: String::new(),
        input: Blob(encode_value(&Value::from(input)).expect("the input can be stored")),
        facts: None,
        folder: String::new(),
        depth: 0,
        budget: BudgetLimits::default(),
        max_ops: 0,
        parent: None,
        tags: Vec::new(),
        at_ms: now_ms(),
        stepped: false,
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Requests per second of many clients, each of which sends one request after the other.
fn rate<F: Future<Output = ()> + Send>(request: impl Fn(u64) -> F + Send + Sync + 'static) -> f64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let request = Arc::new(request);
    let begin = Instant::now();
    let clients = (0..CLIENTS).map(|_| {
        let request = Arc::clone(&request);
        runtime().spawn(async move {
            let mut count = 0_u32;
            while begin.elapsed() < ROUND {
                request(NUMBER.fetch_add(1, Ordering::Relaxed)).await;
                count += 1;
            }
            count
        })
    });
    let clients: Vec<_> = clients.collect();
    let total: u32 = clients.into_iter().map(|client| runtime().block_on(client).expect("the client ends")).sum();
    f64::from(total) / begin.elapsed().as_secs_f64()
}

fn rate_of_workflow(workflow: i64) -> f64 {
    rate(move |number| async move {
        let side = if number.is_multiple_of(2) { "left" } else { "right" };
        let id = format!("bench-{number}");
        let reply = server().client().start(&id, &start_message(workflow, side)).await.expect("the server responds");
        assert_eq!(reply.outcome, Ok(true));
    })
}

fn rate_of_plain_handler() -> f64 {
    let http = operator_client().expect("the HTTP client can be created");
    let url = server().client().addresses().ingress.join("Plain/steps").expect("the address is valid");
    rate(move |_| {
        let request = http.post(url.clone()).header("content-type", "application/json").body("\"hello\"");
        async move {
            let response = request.send().await.expect("the server responds");
            assert!(response.status().is_success());
            response.bytes().await.expect("the response is complete");
        }
    })
}

fn main() {
    set_runner(Some(Arc::new(AtOnce)));
    let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
    let address = listener.local_addr().expect("the port is known");
    let endpoint = Endpoint::builder().bind(Plain).build();
    runtime().spawn(HttpServer::new(endpoint).serve_with_cancel(listener, std::future::pending::<()>()));
    let deployment = format!("http://{address}").parse().expect("the address is valid");
    runtime().block_on(server().client().register(&deployment)).expect("the handler is registered");
    let calls = saved("calls", &document("step_type: prompt_call, prompt_template: \"{{input}}\""));
    let pure = saved("pure", &document("step_type: text, template: \"{{input}}\""));
    let rounds: Vec<[f64; 3]> =
        (0..ROUNDS).map(|_| [rate_of_plain_handler(), rate_of_workflow(calls), rate_of_workflow(pure)]).collect();
    let of = |figure: &dyn Fn(&[f64; 3]) -> f64| median(rounds.iter().map(figure).collect());
    println!("median of {ROUNDS} rounds, {CLIENTS} clients");
    println!("plain handler, {STEPS} recorded steps: {:>6.0} runs/s", of(&|round| round[0]));
    for (name, at) in [("workflow, recorded calls", 1), ("workflow, pure steps", 2)] {
        let share = |round: &[f64; 3]| round[at] / round[0];
        let (least, most) = rounds
            .iter()
            .map(share)
            .fold((f64::MAX, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
        let (rate, share) = (of(&|round| round[at]), of(&share));
        println!("{name}: {rate:.0} runs/s, {share:.2} times the plain handler ({least:.2} to {most:.2})");
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}
