//! What `branchpoint.toml` says about tools and programs, as the real program goes by it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use std::thread;
use std::time::Duration;

use super::running::{Place, signal};

/// A server of tools in a few lines of shell, with one tool: it says where it runs.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"search_memory","description":"Says where it runs.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"'"$(pwd)"'"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A project with programs of its own, and a folder below it in which people work.
fn project(settings: &str, files: &[(&str, &str)]) -> Place {
    let place = Place::new(&[("branchpoint.toml", settings)]);
    for folder in ["own", "out", "deep"] {
        fs::create_dir(place.path().join(folder)).expect("folders can be made");
    }
    for (name, text) in files {
        let file = place.path().join(name);
        fs::write(&file, text).expect("files can be written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("files can be made programs");
    }
    place
}

fn below(place: &Place, arguments: &[&str]) -> Output {
    place.command(arguments).current_dir(place.path().join("deep")).output().expect("the program starts")
}

fn messages(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn programs_and_folders_are_relative_to_the_project_file() {
    let settings = "[mcp.own]\ncommand = \"./own/server.sh\"\ndir = \"out\"\n\
                    [agents.mine]\nprogram = \"./own/agent.sh\"\n";
    let machine = "name: m\nstates:\n  initial: a\n  a:\n    type: agent\n    provider: mine\n    dir: sub\n    prompt: hello\n    \
                   on_success: z\n  z: {type: terminal, message: \"{{states.a.Output}}\"}\n";
    let action = "name: t\ndescription: Calls.\nuuid: f-1\nsteps:\n  - {id: a, type: mcpServerAction, config: {provider: local, \
                  serverId: own, action: search_memory, output: where}}\n";
    let files = [
        ("own/server.sh", SERVER),
        ("own/agent.sh", "#!/bin/sh\ncat; echo \" from $(basename \"$(pwd)\")\"\n"),
        ("deep/m.yaml", machine),
        ("deep/tool.yaml", action),
    ];
    let place = project(settings, &files);
    fs::create_dir(place.path().join("deep/sub")).expect("folders can be made");
    let requests = below(&place, &["run", "m.yaml"]);
    assert!(requests.status.success() && messages(&requests).contains("hello from sub"), "{}", messages(&requests));
    let called = below(&place, &["run", "tool.yaml"]);
    let out = fs::canonicalize(place.path().join("out")).expect("it is there").display().to_string();
    assert!(called.status.success() && messages(&called).contains(&out), "{}", messages(&called));
}

#[test]
fn files_are_written_below_the_project_file() {
    let step = "name: t\ntrigger: {type: new_content}\nsteps:\n  \
                - {id: a, step_type: write_content_attachment, attachment_key: a.txt, content: hello}\n";
    let place = project("[files]\ndir = \"out\"\n", &[("deep/t.yaml", step)]);
    let output = below(&place, &["run", "t.yaml"]);
    assert!(output.status.success(), "{}", messages(&output));
    assert_eq!(place.read("out/a.txt"), "hello");
}

#[test]
fn a_tool_that_cannot_be_called_is_found_before_the_run() {
    let own = "[mcp.own]\ncommand = \"./own/server.sh\"\n";
    let bad = "[mcp.bad]\ncommand = \"sh\"\nenv_from = { KEY = \"NOT_SET_HERE\" }\n";
    for (settings, tool, said) in [
        (own.to_owned(), "search_memori", "`own.search_memory`"),
        (own.to_owned(), "own.search_memori", "`search_memory`"),
        (format!("{own}{bad}"), "own.search_memori", "`search_memory`"),
        (format!("{own}{bad}"), "search_memori", "NOT_SET_HERE"),
        (own.to_owned(), "web_search", "[search]"),
    ] {
        let step =
            format!("name: t\nsteps:\n  - {{id: a, step_type: agent, model: gpt-5, tools: [web_fetch, {tool}]}}\n");
        let place = project(&settings, &[("own/server.sh", SERVER), ("deep/t.yaml", &step)]);
        let mut command = place.command(&["run", "t.yaml"]);
        command.current_dir(place.path().join("deep")).env("OPENAI_API_KEY", "k");
        let output = command.output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{tool}: {}", messages(&output));
        assert!(messages(&output).contains(said), "{tool}: {}", messages(&output));
    }
}

#[test]
fn an_interrupt_while_servers_start_stops_all_of_them() {
    // It answers to nothing, and does not mind that its input ends.
    let deaf = "#!/bin/sh\necho $$ > \"$(dirname \"$0\")/pid\"\nwhile :; do sleep 600; done\n";
    let step = "name: t\nsteps: [{id: a, step_type: agent, model: gpt-5, tools: [search_memory]}]\n";
    let files = [("own/server.sh", deaf), ("t.yaml", step)];
    let place = project("[mcp.own]\ncommand = \"./own/server.sh\"\n", &files);
    let run = place.command(&["run", "t.yaml"]).env("OPENAI_API_KEY", "k").spawn().expect("the program starts");
    place.await_text("own/pid", "\n");
    assert!(signal("INT", &run.id().to_string()));
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", messages(&output));
    let pid = place.read("own/pid").trim().to_owned();
    for _ in 0..3000 {
        if !goes_on(&pid) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the server {pid} goes on");
}

/// Whether a process goes on. One that has ended can be sent signals until its parent reads its exit status, which may never happen.
fn goes_on(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let has_ended = state.and_then(|state| Some(state.rsplit_once(") ")?.1.starts_with(['Z', 'X']))).unwrap_or(false);
    signal("0", pid) && !has_ended
}

#[test]
fn a_path_that_can_never_be_read_is_found_before_the_run() {
    let step = "name: t\nsteps:\n  - {id: a, step_type: extract_xml, path: \"a/count()\"}\n";
    let place = Place::new(&[("t.yaml", step)]);
    let output = place.run(&["run", "t.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{}", messages(&output));
    assert!(messages(&output).contains("`count()`"), "{}", messages(&output));
}

#[test]
fn a_secret_in_a_command_of_steps_is_one_word() {
    let step = "name: t\nsteps:\n  - {id: a, step_type: command, command: \"printf '[%s]' {{secret.MINE}}\"}\n";
    let place = Place::new(&[("t.yaml", step)]);
    let mut command = place.command(&["run", "t.yaml"]);
    let output = command.env("MINE", "x'; echo INJECTED").output().expect("the program starts");
    assert!(output.status.success() && messages(&output).contains("[***]"), "{}", messages(&output));
    assert!(!messages(&output).contains("INJECTED"), "{}", messages(&output));
}

/// Answers one request as a model of an OpenAI-compatible server, and returns its body.
fn model(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().expect("the run calls the model");
    let mut request = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                let reply = r#"{"choices": [{"message": {"role": "assistant", "content": "found nothing"}, "finish_reason": "stop"}]}"#;
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    reply.len()
                );
                stream.write_all(format!("{head}{reply}").as_bytes()).expect("the client reads");
                return body.to_owned();
            }
        }
        let read = stream.read(&mut part).expect("the client writes");
        request.extend_from_slice(&part[..read]);
    }
}

#[test]
fn an_agent_of_a_graph_runs_without_tools_that_are_not_configured() {
    let graph = |strict: &str| {
        format!(
            r#"{{{strict} "nodes": [{{"id": "s", "type": "start"}},
                {{"id": "a", "type": "agent", "data": {{"model": "m", "userPrompt": "Look.", "tools": {{"web_search": true, "web_fetch": true}}}}}}],
                "connections": [{{"source": "s", "target": "a"}}]}}"#
        )
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let settings = format!(
        "[models]\nprovider = \"own\"\nstream = false\n[models.providers.own]\nprotocol = \"openai\"\nbase_url = \"http://{address}/v1\"\nkey_env = \"OWN_KEY\"\n"
    );
    let files = [("deep/lenient.json", &*graph("")), ("deep/strict.json", &*graph("\"strict_tools\": true,"))];
    let place = project(&settings, &files);
    let run = |file: &str| {
        let mut command = place.command(&["run", file]);
        command.current_dir(place.path().join("deep")).env("OWN_KEY", "k").output().expect("the program starts")
    };
    let refused = run("strict.json");
    assert_eq!(refused.status.code(), Some(2), "{}", messages(&refused));
    assert!(
        messages(&refused).contains("error[no_runner]") && messages(&refused).contains("[search]"),
        "{}",
        messages(&refused)
    );
    let server = thread::spawn(move || model(&listener));
    let output = run("lenient.json");
    assert!(output.status.success(), "{}", messages(&output));
    for part in ["warning[no_runner]", "runs without the tool `web_search`", "[search]", "found nothing"] {
        assert!(messages(&output).contains(part), "{part}: {}", messages(&output));
    }
    let sent = server.join().expect("it answers");
    assert!(sent.contains("web_fetch") && !sent.contains(r#""name":"web_search""#), "{sent}");
}
