//! A small test server, written with the same library, over standard streams and over HTTP.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

/// The environment variable that makes the test binary the server.
const ASKED: &str = "TEST_IS_AN_MCP_SERVER";

pub(super) const TOOLS: [&str; 10] = ["echo", "sum", "list", "picture", "fail", "die", "hang", "env", "pid", "grow"];

/// Its list of tools grows on request.
#[derive(Clone, Default)]
struct Small {
    has_grown: Arc<AtomicBool>,
}

impl ServerHandler for Small {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = Arc::new(serde_json::json!({"type": "object"}).as_object().expect("it is one").clone());
        let tool = |name: &'static str| Tool::new(name, format!("Does {name}."), Arc::clone(&schema));
        let grown = self.has_grown.load(Ordering::Acquire).then_some("grown");
        Ok(ListToolsResult::with_all_items(TOOLS.into_iter().chain(grown).map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = match &*request.name {
            "echo" => text(arguments["text"].as_str().unwrap_or_default().to_owned()),
            "sum" => {
                let sum = arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0);
                CallToolResult::structured(serde_json::json!({ "sum": sum }))
            }
            "list" => text("[1, 2]".to_owned()),
            "picture" => {
                CallToolResult::success(vec![ContentBlock::text("see"), ContentBlock::image("AAAA", "image/png")])
            }
            "fail" => CallToolResult::error(vec![ContentBlock::text("it does not work")]),
            "die" => std::process::exit(3),
            "hang" => std::future::pending().await,
            "env" => {
                let mut names: Vec<String> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
                names.sort();
                text(names.join("\n"))
            }
            "grow" => {
                self.has_grown.store(true, Ordering::Release);
                context.peer.notify_tool_list_changed().await.expect("the client listens");
                text(String::new())
            }
            "pid" => text(std::process::id().to_string()),
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(result.into())
    }
}

/// Settings of a server whose program is this test binary.
pub(super) fn by_child(name: &str) -> String {
    let program = std::env::current_exe().expect("this is a program");
    format!(
        "[mcp.{name}]\ncommand = '{}'\nargs = [\"mcp::server::serves_on_request\", \"--exact\", \"--nocapture\", \
         \"--quiet\", \"--test-threads=2\"]\nenv = {{ {ASKED} = \"1\" }}\nenv_from = {{ GIVEN = \"TEST_VALUE\" }}\n",
        program.display()
    )
}

/// Not a test: with the environment variable, it is the server until its input ends.
#[test]
fn serves_on_request() {
    if std::env::var_os(ASKED).is_none() {
        return;
    }
    // The test harness has begun a line.
    println!();
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    runtime.block_on(async {
        let service = Small::default().serve(rmcp::transport::stdio()).await.expect("the client speaks the protocol");
        let _ = service.waiting().await;
    });
    std::process::exit(0);
}

/// Serves over HTTP until the test ends. Returns the address.
pub(crate) fn by_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    listener.set_nonblocking(true).expect("sockets can wait");
    thread::spawn(move || {
        tokio::runtime::Runtime::new().expect("there are threads").block_on(serve(listener));
    });
    format!("http://127.0.0.1:{port}/mcp")
}

async fn serve(listener: TcpListener) {
    let config = StreamableHttpServerConfig::default();
    let service: StreamableHttpService<Small, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Small::default()), Arc::default(), config);
    let listener = tokio::net::TcpListener::from_std(listener).expect("it is a socket");
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
