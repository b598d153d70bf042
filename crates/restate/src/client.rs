//! Calls a Restate server: runs and workflows through its ingress, deployments and queries through its admin API.

use std::time::Duration;

use branchpoint_backend::{Workflow, WorkflowNo};
use branchpoint_core::State;
use branchpoint_runners::{hexadecimal, operator_client};
use reqwest::{Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use url::Url;

use crate::messages::{Blob, DeliverMessage, Reply, Row, StartMessage};
use crate::programs::StoredWorkflow;
use crate::record::Record;

/// The most bytes of an error message of the server that are shown.
const SHOWN_BYTES: usize = 500;

/// How often a request is attempted while the server is not reachable.
const ATTEMPTS: u32 = 8;

/// The pause before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The addresses of a Restate server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The ingress, such as `http://127.0.0.1:8080`.
    pub ingress: Url,
    /// The admin API, such as `http://127.0.0.1:9070`.
    pub admin: Url,
}

/// Why a request to the server failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The HTTP client cannot be created.
    #[error("{0}")]
    Setup(String),
    /// The server is not reachable, or closed the connection.
    #[error("Restate at {address} is not reachable: {reason}")]
    Unreachable {
        /// The address.
        address: String,
        /// The error.
        reason: String,
    },
    /// The server responded with an error.
    #[error("Restate responded with status {status}: {message}")]
    Status {
        /// The status code.
        status: u16,
        /// The beginning of the response.
        message: String,
    },
    /// The workflow cannot be stored.
    #[error("the workflow cannot be stored: {0}")]
    Unstorable(String),
    /// The response cannot be read.
    #[error("the response of Restate cannot be read: {0}")]
    Response(String),
}

/// Calls a Restate server. Copies share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    addresses: Addresses,
}

/// The answer of the admin API to a registration.
#[derive(Debug, Deserialize)]
struct Registered {
    id: String,
}

impl Client {
    /// Creates a client.
    ///
    /// ```
    /// use branchpoint_restate::{Addresses, Client};
    ///
    /// let ingress = "http://127.0.0.1:8080".parse().unwrap();
    /// let client = Client::new(Addresses { ingress, admin: "http://127.0.0.1:9070".parse().unwrap() });
    /// assert!(client.is_ok());
    /// ```
    pub fn new(addresses: Addresses) -> Result<Self, ClientError> {
        Ok(Self { http: operator_client().map_err(ClientError::Setup)?, addresses })
    }

    /// The addresses of the server.
    ///
    /// ```
    /// use branchpoint_restate::Client;
    ///
    /// fn print(client: &Client) {
    ///     println!("{}", client.addresses().ingress);
    /// }
    /// ```
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Registers a deployment, whose handlers the server reads from it. Returns its id. A deployment that is already registered stays.
    pub async fn register(&self, deployment: &Url) -> Result<String, ClientError> {
        let url = endpoint(&self.addresses.admin, &["deployments"]);
        let request = serde_json::json!({"uri": deployment.as_str(), "force": false});
        let response = self.send(&url, &request, None).await?;
        Ok(read::<Registered>(response).await?.id)
    }

    /// Reads rows of the server's tables.
    pub async fn query<T: DeserializeOwned>(&self, sql: &str) -> Result<Vec<T>, ClientError> {
        #[derive(Deserialize)]
        struct Rows<T> {
            rows: Vec<T>,
        }
        let url = endpoint(&self.addresses.admin, &["query"]);
        let response = self.send(&url, &serde_json::json!({"query": sql}), None).await?;
        Ok(read::<Rows<T>>(response).await?.rows)
    }

    /// Starts a run. A second start with the same id changes nothing.
    pub async fn start(&self, id: &str, start: &StartMessage) -> Result<Reply, ClientError> {
        self.call(&["Run", id, "start"], start).await
    }

    /// Delivers a fact to a run. A request that is repeated because its response was lost is applied once.
    pub async fn deliver(&self, id: &str, message: &DeliverMessage) -> Result<Reply, ClientError> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(|error| ClientError::Setup(error.to_string()))?;
        let url = endpoint(&self.addresses.ingress, &["Run", id, "deliver"]);
        read(self.send(&url, message, Some(hexadecimal(&key))).await?).await
    }

    /// The accepted events of a run, in order.
    pub async fn journal(&self, id: &str) -> Result<Vec<Row>, ClientError> {
        self.call(&["Run", id, "journal"], &Json::Null).await
    }

    /// Whether a run waits for an attempt of an effect.
    pub(crate) async fn waits_for(&self, id: &str, effect: u64, attempt: u32) -> Result<bool, ClientError> {
        self.call(&["Run", id, "waits_for"], &(effect, attempt)).await
    }

    /// Saves a workflow. Equal workflows have one number.
    pub async fn save(&self, workflow: Workflow<'_>, now_ms: i64) -> Result<WorkflowNo, ClientError> {
        let stored =
            StoredWorkflow::of(workflow, now_ms).map_err(|error| ClientError::Unstorable(error.to_string()))?;
        self.save_workflow(&stored).await?;
        Ok(stored.number())
    }

    /// The stored state of a run; `None` if there is no such run.
    pub async fn state(&self, id: &str) -> Result<Option<State>, ClientError> {
        let Some(record) = self.call::<Option<Blob>>(&["Run", id, "load"], &Json::Null).await? else { return Ok(None) };
        let record = Record::decode(&record.0).map_err(|error| ClientError::Response(error.to_string()))?;
        Ok(Some(record.state))
    }

    async fn save_workflow(&self, stored: &StoredWorkflow) -> Result<(), ClientError> {
        self.call(&["Workflow", &stored.number().0.to_string(), "save"], stored).await
    }

    pub(crate) async fn load_workflow(&self, number: i64) -> Result<Option<StoredWorkflow>, ClientError> {
        self.call(&["Workflow", &number.to_string(), "load"], &Json::Null).await
    }

    async fn call<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Result<T, ClientError> {
        read(self.send(&endpoint(&self.addresses.ingress, path), body, None).await?).await
    }

    /// Sends a request, again while the server is not reachable. With a key, the server executes it once.
    async fn send(&self, url: &Url, body: &impl Serialize, key: Option<String>) -> Result<Response, ClientError> {
        let mut body = serde_json::to_vec(body).map_err(|error| ClientError::Response(error.to_string()))?;
        if body == b"null" {
            body.clear();
        }
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let request = self.http.post(url.clone());
            // The ingress rejects a body for a handler without input.
            let request = if body.is_empty() { request } else { request.header("content-type", "application/json") };
            let request = key.iter().fold(request, |request, key| request.header("idempotency-key", key));
            let sent = request.header("accept", "application/json").body(body.clone()).send().await;
            match sent {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) if attempt >= ATTEMPTS || !is_temporary(response.status()) => {
                    let status = response.status().as_u16();
                    return Err(ClientError::Status { status, message: shown(response).await });
                }
                Err(error) if attempt >= ATTEMPTS => {
                    let reason = error.without_url().to_string();
                    return Err(ClientError::Unreachable { address: url.origin().ascii_serialization(), reason });
                }
                _ => {}
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        unreachable!("the loop returns after the last attempt")
    }
}

/// Whether the server may accept the request soon: it starts, or the leader of a partition changes.
fn is_temporary(status: StatusCode) -> bool {
    matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY | StatusCode::TOO_MANY_REQUESTS)
}

fn endpoint(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T, ClientError> {
    let bytes = response.bytes().await.map_err(|error| ClientError::Response(error.without_url().to_string()))?;
    let bytes: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
    serde_json::from_slice(bytes).map_err(|error| ClientError::Response(error.to_string()))
}

async fn shown(response: Response) -> String {
    let text = response.text().await.unwrap_or_default();
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= SHOWN_BYTES).last().unwrap_or_default();
    if end < SHOWN_BYTES { text } else { format!("{}…", &text[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_encoded_as_one_part_of_the_path() {
        let base = Url::parse("http://127.0.0.1:8080/").unwrap();
        assert_eq!(endpoint(&base, &["Run", "a/b c", "start"]).as_str(), "http://127.0.0.1:8080/Run/a%2Fb%20c/start");
    }
}
