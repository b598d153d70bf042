//! A test provider of models on this machine, over plain sockets. It supports the formats of OpenAI, Anthropic and Gemini, with and without
//! streaming, and responds with a list of scripted responses.

#![allow(dead_code, reason = "each test crate uses its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A scripted response of the provider.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// Responds with this text.
    Says(&'static str),
    /// Calls tools: name and arguments.
    Calls(&'static [(&'static str, &'static str)]),
    /// Responds with a status, headers and a body.
    Refuses(u16, &'static [(&'static str, &'static str)], &'static str),
    /// Sends the beginning of this text, and then hangs.
    Begins(&'static str),
    /// Sends the beginning of this text, and closes the connection.
    BreaksOff(&'static str),
    /// Sends the beginning of this text, and reports an error of this type.
    Errs(&'static str, &'static str),
    /// Streams exactly this, and ends the response regularly.
    Streams(&'static str),
    /// Responds with this JSON, even if a stream was requested.
    Ignores(&'static str),
    /// Responds with these bytes and a content encoding.
    Encodes(&'static str, &'static [u8]),
    /// Responds with a web page.
    Shows(&'static str),
    /// Sends one endless event with this status.
    Floods(u16),
    /// Reads the request and never responds.
    Hangs,
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) headers: String,
    pub(crate) body: Value,
}

/// The wire format of a request, by its path.
#[derive(Clone, Copy)]
enum Format {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Format {
    fn of(path: &str) -> Self {
        match path {
            path if path.ends_with("/messages") => Self::Anthropic,
            path if path.contains("enerateContent") => Self::Gemini,
            _ => Self::OpenAi,
        }
    }
}

pub(crate) struct Provider {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    names: Arc<Names>,
}

/// Requests for the names of models.
#[derive(Default)]
struct Names {
    count: AtomicU32,
    /// Whether they never get a response.
    secret: bool,
}

impl Provider {
    /// Responds with the list, one after the other; the last repeats.
    pub(crate) fn new(does: Vec<Does>) -> Self {
        Self::with(does, Names::default())
    }

    /// The same, but requests for the names of models never get a response.
    pub(crate) fn without_names(does: Vec<Does>) -> Self {
        Self::with(does, Names { secret: true, ..Names::default() })
    }

    fn with(does: Vec<Does>, names: Names) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("it is bound"));
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let names = Arc::new(names);
        let (list, counter) = (Arc::clone(&requests), Arc::clone(&names));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (list, names, does) = (Arc::clone(&list), Arc::clone(&counter), does.clone());
                let serve = move || serve(stream, &list, &names, &does);
                thread::Builder::new().stack_size(128 * 1024).spawn(serve).expect("a thread");
            }
        });
        Self { url, requests, names }
    }

    /// How often the names of models were requested.
    pub(crate) fn requests_for_names(&self) -> u32 {
        self.names.count.load(Ordering::SeqCst)
    }

    /// The received calls of models, without requests for names.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no thread panics while holding it").clone()
    }
}

/// Serves the requests on one connection, until it is closed.
fn serve(stream: TcpStream, requests: &Mutex<Vec<Request>>, names: &Names, does: &[Does]) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut stream = stream;
    while let Some(request) = read(&mut reader) {
        if request.path.ends_with("/models") {
            names.count.fetch_add(1, Ordering::SeqCst);
            if names.secret {
                thread::park();
            }
            let models = json!({"data": [{"id": "test-model"}, {"id": "test-mode-large"}, {"id": "other"}]});
            answer(&mut stream, 200, &[], &models.to_string());
            continue;
        }
        let at = {
            let mut requests = requests.lock().expect("no thread panics while holding it");
            requests.push(request.clone());
            requests.len() - 1
        };
        let does = does.get(at).or(does.last()).expect("a list that is not empty");
        let format = Format::of(&request.path);
        let streams = request.body["stream"] == json!(true) || request.path.contains(":stream");
        match does {
            Does::Refuses(status, headers, body) => answer(&mut stream, *status, headers, body),
            Does::Hangs => {
                thread::park();
            }
            Does::Streams(events) => {
                send(&mut stream, &[(*events).to_owned()]);
                let _ = stream.write_all(b"0\r\n\r\n");
            }
            Does::Ignores(body) => answer(&mut stream, 200, &[], body),
            Does::Encodes(encoding, bytes) => {
                let head = format!("content-type: application/json\r\ncontent-encoding: {encoding}");
                let head = format!("HTTP/1.1 200 OK\r\n{head}\r\ncontent-length: {}\r\n\r\n", bytes.len());
                let _ = stream.write_all(&[head.as_bytes(), bytes].concat());
            }
            Does::Shows(page) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length:";
                let _ = stream.write_all(format!("{head} {}\r\n\r\n{page}", page.len()).as_bytes());
            }
            Does::Floods(status) => return flood(&mut stream, *status),
            Does::BreaksOff(text) => return begin(&mut stream, text, format),
            Does::Begins(text) => {
                begin(&mut stream, text, format);
                thread::park();
            }
            does if streams => {
                send(&mut stream, &chunks(does, format));
                let _ = stream.write_all(b"0\r\n\r\n");
            }
            does => answer(&mut stream, 200, &[], &whole(does, format).to_string()),
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = String::new();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        let header = header.to_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        headers.push_str(&header);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
}

fn answer(stream: &mut TcpStream, status: u16, headers: &[(&str, &str)], body: &str) {
    let mut head =
        format!("HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", body.len());
    head.extend(headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
    let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
}

/// Sends events, each as a separate chunk.
fn send(stream: &mut TcpStream, events: &[String]) {
    let _ =
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
    for event in events {
        let _ = stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }
}

/// Sends the first half of a response.
fn begin(stream: &mut TcpStream, text: &'static str, format: Format) {
    let whole = chunks(&Does::Says(text), format);
    send(stream, &whole[..whole.len() / 2]);
}

/// Sends until the connection is closed.
fn flood(stream: &mut TcpStream, status: u16) {
    let head = "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let _ = stream.write_all(format!("HTTP/1.1 {status} Whatever\r\n{head}").as_bytes());
    let piece = "x".repeat(64 * 1024);
    let piece = format!("{:x}\r\n{piece}\r\n", piece.len());
    while stream.write_all(piece.as_bytes()).is_ok() {}
}

fn chunks(does: &Does, format: Format) -> Vec<String> {
    match format {
        Format::OpenAi => openai_events(does),
        Format::Anthropic => anthropic_events(does),
        Format::Gemini => gemini_events(does),
    }
}

fn whole(does: &Does, format: Format) -> Value {
    match (does, format) {
        (Does::Says(_) | Does::Calls(_), Format::Gemini) => gemini_object(&gemini_parts(does), true),
        (Does::Says(text), Format::OpenAi) => {
            json!({"model": "test-model", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": text}}], "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}})
        }
        (Does::Calls(calls), Format::OpenAi) => {
            let calls: Vec<_> = calls.iter().enumerate().map(|(at, (name, arguments))| {
                json!({"id": format!("call_{at}"), "type": "function", "function": {"name": name, "arguments": arguments}})
            }).collect();
            json!({"model": "test-model", "choices": [{"index": 0, "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": null, "tool_calls": calls}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}})
        }
        (Does::Says(text), Format::Anthropic) => {
            json!({"model": "test-model", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 100, "output_tokens": 10}})
        }
        (Does::Calls(calls), Format::Anthropic) => {
            let calls: Vec<_> = calls
                .iter()
                .enumerate()
                .map(|(at, (name, arguments))| {
                    let input: Value = serde_json::from_str(arguments).expect("arguments are JSON");
                    json!({"type": "tool_use", "id": format!("call_{at}"), "name": name, "input": input})
                })
                .collect();
            json!({"model": "test-model", "role": "assistant", "stop_reason": "tool_use", "content": calls,
                "usage": {"input_tokens": 100, "output_tokens": 10}})
        }
        (other, _) => panic!("{other:?} is not answered whole"),
    }
}

fn openai_events(does: &Does) -> Vec<String> {
    let data = |value: Value| format!("data: {value}\n\n");
    let choice = |delta: Value, finish: Value| {
        data(json!({"id": "c", "object": "chat.completion.chunk", "model": "test-model",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let usage = data(
        json!({"id": "c", "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}),
    );
    let mut events = Vec::new();
    match does {
        Does::Says(text) => {
            events.push(choice(json!({"role": "assistant", "content": ""}), Value::Null));
            events.extend(pieces(text).map(|piece| choice(json!({"content": piece}), Value::Null)));
            events.push(choice(json!({}), json!("stop")));
        }
        Does::Calls(calls) => {
            for (at, (name, arguments)) in calls.iter().enumerate() {
                let begin = json!({"index": at, "id": format!("call_{at}"), "type": "function", "function": {"name": name, "arguments": ""}});
                events.push(choice(json!({"tool_calls": [begin]}), Value::Null));
                for piece in pieces(arguments) {
                    let more = json!({"index": at, "function": {"arguments": piece}});
                    events.push(choice(json!({"tool_calls": [more]}), Value::Null));
                }
            }
            events.push(choice(json!({}), json!("tool_calls")));
        }
        Does::Errs(text, kind) => {
            events.push(choice(json!({"content": text}), Value::Null));
            events.push(data(json!({"error": {"message": "it went wrong", "type": kind}})));
            return events;
        }
        other => panic!("{other:?} is not streamed"),
    }
    events.push(usage);
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn anthropic_events(does: &Does) -> Vec<String> {
    let event = |name: &str, value: Value| format!("event: {name}\ndata: {value}\n\n");
    let mut events = vec![event(
        "message_start",
        json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "model": "test-model",
            "usage": {"input_tokens": 100, "output_tokens": 1}}}),
    )];
    let reason = match does {
        Does::Says(text) => {
            events.push(event(
                "content_block_start",
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            ));
            events.extend(pieces(text).map(|piece| {
                event(
                    "content_block_delta",
                    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}),
                )
            }));
            events.push(event("content_block_stop", json!({"type": "content_block_stop", "index": 0})));
            "end_turn"
        }
        Does::Calls(calls) => {
            for (at, (name, arguments)) in calls.iter().enumerate() {
                events.push(event(
                    "content_block_start",
                    json!({"type": "content_block_start", "index": at,
                    "content_block": {"type": "tool_use", "id": format!("call_{at}"), "name": name, "input": {}}}),
                ));
                events.extend(pieces(arguments).map(|piece| {
                    event(
                        "content_block_delta",
                        json!({"type": "content_block_delta", "index": at,
                        "delta": {"type": "input_json_delta", "partial_json": piece}}),
                    )
                }));
                events.push(event("content_block_stop", json!({"type": "content_block_stop", "index": at})));
            }
            "tool_use"
        }
        Does::Errs(_, kind) => {
            events.push(event("error", json!({"type": "error", "error": {"type": kind, "message": "it went wrong"}})));
            return events;
        }
        other => panic!("{other:?} is not streamed"),
    };
    events.push(event(
        "message_delta",
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 10}}),
    ));
    events.push(event("message_stop", json!({"type": "message_stop"})));
    events
}

fn gemini_parts(does: &Does) -> Vec<Value> {
    match does {
        Does::Says(text) => pieces(text).map(|piece| json!({"text": piece})).collect(),
        Does::Calls(calls) => {
            let call = |(at, (name, arguments)): (usize, &(&str, &str))| {
                let args: Value = serde_json::from_str(arguments).expect("arguments are JSON");
                json!({"functionCall": {"id": format!("call_{at}"), "name": name, "args": args}})
            };
            calls.iter().enumerate().map(call).collect()
        }
        other => panic!("{other:?} has no parts"),
    }
}

fn gemini_object(parts: &[Value], is_last: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}});
    let mut usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 1});
    if is_last {
        candidate["finishReason"] = json!("STOP");
        usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 7, "thoughtsTokenCount": 3});
    }
    json!({"candidates": [candidate], "usageMetadata": usage})
}

fn gemini_events(does: &Does) -> Vec<String> {
    let event = |value: Value| format!("data: {value}\r\n\r\n");
    if let Does::Errs(text, kind) = does {
        let error = json!({"error": {"code": 503, "message": "it went wrong", "status": kind}});
        return vec![event(gemini_object(&[json!({"text": text})], false)), event(error)];
    }
    let parts = gemini_parts(does);
    let last = parts.len().saturating_sub(1);
    let object = |(at, part): (usize, Value)| event(gemini_object(&[part], at == last));
    parts.into_iter().enumerate().map(object).collect()
}

/// A text in pieces of a few characters.
fn pieces(text: &str) -> impl Iterator<Item = String> + '_ {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(4).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}

/// Reads one request and drops it.
pub(crate) fn skip(reader: &mut BufReader<TcpStream>) -> Option<()> {
    read(reader).map(drop)
}
