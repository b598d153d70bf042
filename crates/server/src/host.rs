//! What a server needs of the program that starts it.

use std::path::Path;
use std::sync::Arc;

use branchpoint_backend::Backend;
use branchpoint_core::ir::Program;
use branchpoint_expr::{Diagnostic, Object, Value};

use crate::access::{Access, AuditLog};
use crate::oidc::{Oidc, OidcSettings};
use crate::scripts::DefaultScripts;
use crate::version_notes::VersionNotes;
use crate::{Example, ModelProviders, Permission, TextFeed, Webhooks};

/// Reports the steps of a program that have no configured runner, as warnings about the text.
pub(crate) type RunnerCheck = Arc<dyn Fn(&Program, &str) -> Vec<Diagnostic> + Send + Sync>;

/// Whether the environment or a file of the machine has a secret of a name.
pub(crate) type OwnSecrets = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The backend, the local user, and what is known of the machine.
pub struct Host {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) user: String,
    pub(crate) account: Value,
    pub(crate) runner_check: RunnerCheck,
    pub(crate) examples: Vec<Example>,
    pub(crate) texts: Option<TextFeed>,
    pub(crate) access: Option<Access>,
    pub(crate) audit: Option<AuditLog>,
    pub(crate) version_notes: Option<VersionNotes>,
    pub(crate) permissions: Vec<Permission>,
    pub(crate) webhooks: Webhooks,
    pub(crate) oidc: Option<Oidc>,
    pub(crate) default_scripts: DefaultScripts,
    pub(crate) has_own_secret: OwnSecrets,
    pub(crate) providers: Option<Box<dyn ModelProviders>>,
}

impl Host {
    /// A backend, and the user who sends requests without credentials from this machine.
    pub fn new(backend: Box<dyn Backend>, user: impl Into<String>) -> Self {
        let user = user.into();
        let people = |name: &str| Value::from(vec![Value::from(name)]);
        let account: Object = [
            (Arc::from("owner"), Value::from(user.as_str())),
            (Arc::from("admins"), people(&user)),
            (Arc::from("members"), people(&user)),
        ]
        .into_iter()
        .collect();
        Self {
            backend,
            user,
            account: Value::from(account),
            runner_check: Arc::new(|_, _| Vec::new()),
            examples: Vec::new(),
            texts: None,
            access: None,
            audit: None,
            version_notes: None,
            permissions: Vec::new(),
            webhooks: Webhooks::default(),
            oidc: None,
            default_scripts: DefaultScripts::default(),
            has_own_secret: Arc::new(|_| false),
            providers: None,
        }
    }

    /// The possible approvers of workflows that name none: `{owner, admins, members}`.
    #[must_use]
    pub fn with_account(self, account: Value) -> Self {
        Self { account, ..self }
    }

    /// Reports steps without a configured runner when a document is checked.
    #[must_use]
    pub fn with_runner_check(self, runner_check: RunnerCheck) -> Self {
        Self { runner_check, ..self }
    }

    /// What documents that are saved over the API may use of the machine. Without permissions: nothing.
    #[must_use]
    pub fn with_permissions(self, permissions: Vec<Permission>) -> Self {
        Self { permissions, ..self }
    }

    /// The webhooks that the settings show.
    #[must_use]
    pub fn with_webhooks(self, webhooks: Webhooks) -> Self {
        Self { webhooks, ..self }
    }

    /// Sets which secrets the machine itself has. They are used before named secrets of the store, so a named secret permits nothing for
    /// their names.
    #[must_use]
    pub fn with_own_secrets(self, has_own_secret: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { has_own_secret: Arc::new(has_own_secret), ..self }
    }

    /// The providers of models that the settings show.
    #[must_use]
    pub fn with_providers(self, providers: Box<dyn ModelProviders>) -> Self {
        Self { providers: Some(providers), ..self }
    }

    /// Stores credentials, the log of changes and notes about versions in files beside the store at this path.
    #[must_use]
    pub fn with_access(self, store: &Path) -> Self {
        let version_notes = Some(VersionNotes::of_store(store));
        Self { access: Some(Access::of_store(store)), audit: Some(AuditLog::of_store(store)), version_notes, ..self }
    }

    /// Lets people sign in with a provider. The client is for addresses of the operator and follows no redirects.
    #[must_use]
    pub fn with_oidc(self, settings: OidcSettings, http: reqwest::Client) -> Self {
        Self { oidc: Some(Oidc::new(settings, http)), ..self }
    }

    /// Answers the runs of workflows by scripts unless they have another. The caller may change the scripts later.
    #[must_use]
    pub fn with_default_scripts(self, default_scripts: DefaultScripts) -> Self {
        Self { default_scripts, ..self }
    }

    /// Streams the texts of models to clients that follow their runs.
    #[must_use]
    pub fn with_texts(self, texts: TextFeed) -> Self {
        Self { texts: Some(texts), ..self }
    }

    /// Saves examples when the server starts. A run of an example is answered by its script unless it has another.
    #[must_use]
    pub fn with_examples(self, examples: Vec<Example>) -> Self {
        Self { examples, ..self }
    }
}
