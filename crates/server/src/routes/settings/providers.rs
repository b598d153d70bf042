//! Settings: the providers of models, and steps of workflows that have no configured runner.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use branchpoint_backend::Backend;
use branchpoint_runners::models::{KeyStatus, ProviderSummary};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::body::{Path, Query};
use crate::caller::{Action, Caller};
use crate::list::{Page, PageRequest};
use crate::problem::Problem;
use crate::providers::ModelProviders;

/// A provider of models.
#[derive(Serialize, ToSchema)]
#[schema(as = Provider)]
pub(super) struct ProviderRecord {
    name: String,
    /// Its wire format, or the name of a compatible provider.
    kind: String,
    /// Its address without user, password and query.
    endpoint: Option<String>,
    /// The models that the settings name for it.
    models: Vec<String>,
    /// `set`, `missing` or `not_needed`.
    #[schema(value_type = ProviderKey)]
    key: &'static str,
    /// Why its models cannot be called; null if they can.
    problem: Option<String>,
    /// The number of workflows whose latest version calls it.
    used_by: u64,
}

/// Whether the key of a provider is set.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it describes texts in the OpenAPI document")]
pub(super) enum ProviderKey {
    Set,
    Missing,
    NotNeeded,
}

impl ProviderRecord {
    fn new(provider: ProviderSummary, used_by: u64) -> Self {
        let ProviderSummary { name, protocol, address, models, key, problem } = provider;
        let key = match key {
            KeyStatus::Set => "set",
            KeyStatus::Missing => "missing",
            KeyStatus::NotNeeded => "not_needed",
        };
        Self { name, kind: protocol, endpoint: address, models, key, problem, used_by }
    }
}

/// Lists the configured providers of models. Keys are never shown.
#[utoipa::path(get, path = "/settings/providers", tag = "settings", operation_id = "list_providers", params(PageRequest),
    responses((status = 200, description = "The providers", body = Page<ProviderRecord>)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageRequest>,
) -> Result<Json<Page<ProviderRecord>>, Problem> {
    caller.may_on_server(Action::Administer)?;
    let shared = app.clone();
    app.call(move |backend| {
        let Some(providers) = &shared.host.providers else { return Ok(Json(page.page(Vec::new())?)) };
        let used_by = used_by(&shared, backend, &**providers)?;
        let record = |provider: ProviderSummary| {
            let used_by = used_by.get(&provider.name).copied().unwrap_or_default();
            ProviderRecord::new(provider, used_by)
        };
        Ok(Json(page.page(providers.list().into_iter().map(record).collect())?))
    })
    .await
}

/// How many workflows are searched for calls of providers.
const MAX_WORKFLOWS: usize = 1_000;

/// The number of workflows whose latest version calls each provider.
fn used_by(app: &App, backend: &dyn Backend, providers: &dyn ModelProviders) -> Result<BTreeMap<String, u64>, Problem> {
    let mut used_by = BTreeMap::new();
    for versions in app.all_versions(backend)?.values().take(MAX_WORKFLOWS) {
        let Some(latest) = versions.last() else { continue };
        let Some(program) = backend.program(latest.workflow, "")? else { continue };
        let names: BTreeSet<String> = program.effects.iter().filter_map(|effect| providers.of(effect)).collect();
        for name in names {
            *used_by.entry(name).or_default() += 1;
        }
    }
    Ok(used_by)
}

/// The result of a check of a provider.
#[derive(Serialize, ToSchema)]
pub(super) struct ProviderCheckResult {
    /// Whether it responds and accepts the key.
    ok: bool,
    /// What came of the request, and what to do.
    message: String,
    took_ms: u64,
}

/// Checks whether a provider responds and accepts the key: requests its list of models, which costs nothing.
#[utoipa::path(post, path = "/settings/providers/{name}/check", tag = "settings", operation_id = "check_provider",
    params(("name" = String, Path, description = "The name of the provider")),
    responses((status = 200, description = "The result", body = ProviderCheckResult)))]
pub(super) async fn check(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<ProviderCheckResult>, Problem> {
    caller.may_on_server(Action::Administer)?;
    let begin = Instant::now();
    let shared = app.clone();
    let checked =
        app.compute(move || Ok(shared.host.providers.as_ref().and_then(|providers| providers.check(&name)))).await?;
    let checked = checked
        .ok_or_else(|| Problem::not_found("There is no such provider. `GET /settings/providers` lists them."))?;
    let took_ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Json(ProviderCheckResult { ok: checked.ok, message: checked.message, took_ms }))
}

/// Which workflows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RunnerCheckRequest {
    /// The most workflows, from 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The cursor of the page before, from its `next`.
    #[param(pattern = "^[0-9]{1,15}$")]
    cursor: Option<String>,
}

/// The steps of a workflow that have no configured runner.
#[derive(Serialize, ToSchema)]
pub(super) struct RunnerCheckRecord {
    workflow: String,
    version: u32,
    /// Whether all steps have a configured runner.
    ok: bool,
    findings: Vec<RunnerFinding>,
}

/// A step that has no configured runner.
#[derive(Serialize, ToSchema)]
pub(super) struct RunnerFinding {
    /// The kind, such as `no_runner`.
    kind: String,
    message: String,
    /// What to do.
    help: Option<String>,
}

/// Checks the latest versions of workflows by name: whether every step has a configured runner.
#[utoipa::path(get, path = "/settings/runner-check", tag = "settings", operation_id = "check_runners", params(RunnerCheckRequest),
    responses((status = 200, description = "The findings", body = Page<RunnerCheckRecord>)))]
pub(super) async fn runner_check(
    State(app): State<App>,
    caller: Caller,
    Query(request): Query<RunnerCheckRequest>,
) -> Result<Json<Page<RunnerCheckRecord>>, Problem> {
    caller.may_on_server(Action::Administer)?;
    let page = PageRequest::new(request.limit, request.cursor);
    let shared = app.clone();
    app.call(move |backend| {
        let versions = shared.all_versions(backend)?;
        let latest = versions.into_values().filter_map(|versions| versions.last().cloned()).collect();
        let page = page.page(latest)?;
        let mut items = Vec::new();
        for version in page.items {
            let Some(program) = backend.program(version.workflow, "")? else { continue };
            let text = backend.document(version.workflow)?.text;
            let findings = (shared.host.runner_check)(&program, &text).into_iter().map(|finding| RunnerFinding {
                kind: finding.kind.as_str().to_owned(),
                message: finding.message.clone(),
                help: finding.help.clone(),
            });
            let findings: Vec<RunnerFinding> = findings.collect();
            let (workflow, version) = (version.name.to_string(), version.version);
            items.push(RunnerCheckRecord { workflow, version, ok: findings.is_empty(), findings });
        }
        Ok(Json(Page { items, next: page.next }))
    })
    .await
}
