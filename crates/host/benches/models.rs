//! The cost of model calls: the time of a scripted call, and the memory of a thousand calls that stream at once.
//!
//! `cargo bench -p branchpoint-host --bench models` prints both; with `-- scripted` or `-- streaming` one of them. The
//! provider is a process of its own, so that the memory is ours alone.

#[path = "../../runners/tests/provider/mod.rs"]
mod provider;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use branchpoint_core::EffectNo;
use branchpoint_core::effect::{Kind, ModelResult};
use branchpoint_core::ir::builder::{Builder, ROOT, effect};
use branchpoint_core::ir::{Effect, Program, Status, Write as Put};
use branchpoint_expr::{Dialect, Object, Value};
use branchpoint_host::{Script, VirtualDriver};
use branchpoint_runners::models::{Piece, Provider, Settings};
use branchpoint_runners::{Answer, Call, CancellationToken, Models, allow_many_open_files, no_secrets, runtime};

const AT_ONCE: usize = 1_000;
const SCRIPTED: i64 = 2_000;
const ROUNDS: usize = 9;

fn main() {
    allow_many_open_files();
    // The benchmark starts itself once more as the provider.
    if std::env::args().any(|argument| argument == "--serve") {
        return serve();
    }
    let wanted = |name: &str| std::env::args().skip(1).all(|argument| argument.starts_with("--") || argument == name);
    if wanted("scripted") {
        scripted();
    }
    if wanted("streaming") {
        streaming();
    }
}

/// Runs loops of scripted model calls through the whole host.
fn scripted() {
    let mut each: Vec<f64> = (0..ROUNDS).map(|_| scripted_us()).collect();
    each.sort_by(f64::total_cmp);
    let (least, median, most) = (each[0], each[ROUNDS / 2], each[ROUNDS - 1]);
    println!(
        "scripted: {SCRIPTED} model calls in each of {ROUNDS} runs: median {median:.2} µs a call, {least:.2} to {most:.2}"
    );
}

/// The time of one call, in a run of its own.
fn scripted_us() -> f64 {
    let program = looping();
    let script: Value = serde_json::from_str(r#"{"ask": ["an answer of a model"]}"#).expect("this is JSON");
    let mut script = Script::read(&script).expect("this is a script");
    let mut memory = VirtualDriver::new(&program, 0);
    memory.start(Value::Int(SCRIPTED), Object::default()).expect("it starts");
    let begun = Instant::now();
    memory.run_until_idle(&mut |call| script.simulate(call));
    let took = begun.elapsed();
    assert_eq!(memory.status(), Status::Completed);
    took.as_nanos() as f64 / SCRIPTED as f64 / 1_000.0
}

fn looping() -> Program {
    let mut b = Builder::new();
    let input = b.input();
    let count = b.slot(ROOT, "count", Some(Value::Int(0)));
    let answer = b.slot(ROOT, "answer", None);
    let names = [("most", input), ("count", count), ("answer", answer)];
    let step = b.step("ask", "model", None, (0, 0));
    let head = b.reserve();
    let prompt = b.formula("{prompt: 'Say something, number ' + string(count)}", Dialect::Session, &names, &[]);
    let model = b.effect(Effect { step: Some(step), ..effect(Kind::Model) });
    let more = b.formula("count + 1", Dialect::Session, &names, &[]);
    let counted = b.set([Put::Put(count, more)], head, None);
    let ask = b.do_(model, prompt, Some(answer), counted, None);
    let result = b.read(answer);
    let done = b.close(Status::Completed, result);
    let over = b.test("count >= most", Dialect::Session, &names, &[]);
    b.at(head).decide([(over, done)], ask, None);
    b.begin(ROOT, &[head]);
    b.finish().expect("it is valid")
}

/// A thousand calls whose answers have begun and not ended; then the memory is read.
fn streaming() {
    let own = std::env::current_exe().expect("this program has a path");
    let mut server =
        Command::new(own).arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut address = String::new();
    BufReader::new(server.stdout.take().expect("it is piped")).read_line(&mut address).expect("it prints its address");
    let before = resident_kb();
    let provider = Provider { base_url: Some(address.trim().to_owned()), ..Provider::default() };
    let settings = Settings {
        default: Some("local/test-model".to_owned()),
        providers: BTreeMap::from([("local".to_owned(), provider)]),
        ..Settings::default()
    };
    let mut models = Models::new(settings, BTreeMap::new());
    let received = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&received);
    models.listener = Arc::new(move |_, piece| {
        if piece == Piece::Text("first") {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let begun = Instant::now();
    let answered = thread::scope(|scope| {
        let calls: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                let models = &models;
                let prepared = call(number).prepare(&no_secrets()).expect("it can be sent");
                scope.spawn(move || runtime().block_on(models.perform(&prepared, &CancellationToken::new())))
            })
            .collect();
        while received.load(Ordering::Relaxed) < AT_ONCE {
            thread::sleep(Duration::from_millis(5));
        }
        let kb = resident_kb();
        println!(
            "streaming: {AT_ONCE} calls at once after {:?}: {} MB resident, {} MB more than before",
            begun.elapsed(),
            kb / 1_024,
            (kb - before) / 1_024
        );
        // Now the provider may finish.
        drop(server.stdin.take());
        let ended = calls.into_iter().map(|call| call.join().expect("no panic"));
        ended.filter(|answer| matches!(answer, Some(Answer::Model(ModelResult { value: Value::Str(text), .. })) if &**text == "first last")).count()
    });
    assert_eq!(answered, AT_ONCE, "every answer comes whole");
    println!("streaming: all {answered} answers whole after {:?}", begun.elapsed());
    let _ = server.wait();
}

fn call(number: usize) -> Call {
    let input = serde_json::from_str(r#"{"prompt": "Tell me something."}"#).expect("this is JSON");
    Call { effect: EffectNo(number as u64), ..Call::first(effect(Kind::Model), input) }
}

/// The resident memory of this process.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or_default()
}

/// A provider that begins every answer and ends none before its standard input is closed.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    println!("http://{}/v1", listener.local_addr().expect("it is bound"));
    let open = Arc::new(AtomicUsize::new(0));
    let go = Arc::clone(&open);
    thread::spawn(move || {
        // It reads until its standard input is closed.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        go.store(1, Ordering::Release);
        thread::sleep(Duration::from_secs(20));
        std::process::exit(0);
    });
    for stream in listener.incoming().flatten() {
        let open = Arc::clone(&open);
        let hold = move || hold(stream, &open);
        thread::Builder::new().stack_size(64 * 1024).spawn(hold).expect("a thread");
    }
}

fn hold(mut stream: TcpStream, open: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    while let Some(()) = provider::skip(&mut reader) {
        let piece = |text: &str| {
            let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
            format!("{:x}\r\n{event}\r\n", event.len())
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let _ = stream.write_all(format!("{head}{}", piece("first")).as_bytes());
        while open.load(Ordering::Acquire) == 0 {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = stream.write_all(format!("{}e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n", piece(" last")).as_bytes());
    }
}
