//! Errors of requests: RFC 9457 problem responses with the kinds and spans of diagnostics.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use branchpoint_backend::{BackendError, Rejection, SessionRejection};
use branchpoint_core::{Rejected, VoteRejection};
use branchpoint_expr::{Diagnostic, render_json};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::access::{AccessError, InvalidLink};

/// The media type of problem responses.
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The kinds of problems, each with its status and title.
macro_rules! problem_kinds {
    ($($kind:ident $name:literal $status:ident $title:literal,)*) => {
        /// The kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum ProblemKind {
            $(#[doc = $title] $kind,)*
        }

        impl ProblemKind {
            /// All kinds.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The stable name.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            pub(crate) fn status(self) -> StatusCode {
                match self { $(Self::$kind => StatusCode::$status,)* }
            }

            fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)* }
            }
        }
    };
}

problem_kinds! {
    BadRequest "bad_request" BAD_REQUEST "The request is malformed",
    Unauthenticated "unauthenticated" UNAUTHORIZED "Sign in first",
    Forbidden "forbidden" FORBIDDEN "This action is not allowed",
    NotPermitted "not_permitted" FORBIDDEN "Not permitted for documents saved over the API",
    NotRecipient "not_recipient" FORBIDDEN "Not an approver",
    LinkInvalid "link_invalid" NOT_FOUND "Invalid link",
    LinkExpired "link_expired" GONE "The link has expired",
    LinkUsed "link_used" CONFLICT "The link has been used",
    NotFound "not_found" NOT_FOUND "Not found",
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED "Unsupported method",
    Timeout "timeout" REQUEST_TIMEOUT "The request took too long",
    Conflict "conflict" CONFLICT "The request conflicts with the current state",
    NotPending "not_pending" CONFLICT "Already settled",
    AlreadyVoted "already_voted" CONFLICT "Already voted",
    ApprovalOutdated "approval_outdated" CONFLICT "The approval has changed",
    Outdated "outdated" CONFLICT "A newer version exists",
    TooLarge "too_large" PAYLOAD_TOO_LARGE "The request is too large",
    UnsupportedMedia "unsupported_media" UNSUPPORTED_MEDIA_TYPE "Unsupported media type",
    Misdirected "misdirected" MISDIRECTED_REQUEST "Unknown host name",
    InvalidDocument "invalid_document" UNPROCESSABLE_ENTITY "The document is invalid",
    EditRejected "edit_rejected" UNPROCESSABLE_ENTITY "The edit is not possible",
    InvalidInput "invalid_input" UNPROCESSABLE_ENTITY "The input is invalid",
    UnknownChoice "unknown_choice" UNPROCESSABLE_ENTITY "Unknown choice",
    BadForm "bad_form" UNPROCESSABLE_ENTITY "The form is invalid",
    BadDelegate "bad_delegate" UNPROCESSABLE_ENTITY "Not a possible delegate",
    LimitReached "limit_reached" TOO_MANY_REQUESTS "The share of one user is used up",
    Internal "internal" INTERNAL_SERVER_ERROR "The server has a defect",
    Unavailable "unavailable" SERVICE_UNAVAILABLE "Temporarily unavailable",
}

/// Why a request failed.
#[derive(Debug)]
pub(crate) struct Problem(Box<Failure>);

#[derive(Debug)]
struct Failure {
    kind: ProblemKind,
    detail: String,
    diagnostics: Option<Value>,
    extra: Map<String, Value>,
    retry_after_s: Option<u32>,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(Failure { kind, detail, diagnostics: None, extra: Map::new(), retry_after_s: None }))
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::NotFound, detail)
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::BadRequest, detail)
    }

    pub(crate) fn invalid_input(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::InvalidInput, detail)
    }

    /// A document with errors. The findings have spans in `text`.
    pub(crate) fn invalid_document(findings: &[Diagnostic], text: &str, origin: &str) -> Self {
        let errors = findings.iter().filter(|finding| finding.severity == branchpoint_expr::Severity::Error);
        let first = errors.clone().next().map(|finding| error_line(finding, text)).unwrap_or_default();
        let detail = match errors.count() {
            0 | 1 => first,
            2 => format!("{first} (1 more error)"),
            more => format!("{first} ({} more errors)", more - 1),
        };
        let mut problem = Self::new(ProblemKind::InvalidDocument, detail);
        problem.0.diagnostics = Some(render_json(findings, text, origin));
        problem
    }

    /// Adds a member to the problem.
    pub(crate) fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.0.extra.insert(name.to_owned(), serde_json::to_value(value).unwrap_or_default());
        self
    }

    /// Adds why a run rejected the request, as a code with fields.
    pub(crate) fn with_rejection(self, rejection: Value) -> Self {
        if rejection.is_null() { self } else { self.with("rejection", rejection) }
    }

    /// Asks the client to try again after so many seconds.
    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after_s = Some(seconds);
        self
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.0.kind == ProblemKind::NotFound
    }

    #[cfg(test)]
    pub(crate) fn kind(&self) -> ProblemKind {
        self.0.kind
    }

    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }
}

/// The body of a problem response.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// The page about the kind of problem.
    r#type: String,
    /// The kind in a few words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened, and what to do.
    detail: String,
    /// The stable name of the kind.
    kind: &'static str,
    /// Findings about the document of the request, with spans in its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<crate::schemas::Diagnostic>>)]
    diagnostics: Option<Value>,
    #[serde(flatten)]
    #[schema(ignore)]
    extra: Map<String, Value>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Failure { kind, detail, diagnostics, extra, retry_after_s } = *self.0;
        let status = kind.status();
        let body = ProblemBody {
            r#type: format!("/docs/{}", kind.as_str()),
            title: kind.title(),
            status: status.as_u16(),
            detail,
            kind: kind.as_str(),
            diagnostics,
            extra,
        };
        let mut response = (status, serde_json::to_vec(&body).unwrap_or_default()).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, MEDIA_TYPE);
        if kind == ProblemKind::Unauthenticated {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// The line of an error in a document, its message, and its help if that is short.
fn error_line(finding: &Diagnostic, text: &str) -> String {
    let line = text.bytes().take(finding.span.start as usize).filter(|byte| *byte == b'\n').count() + 1;
    let help = finding.help.as_ref().filter(|help| !help.contains('\n'));
    let help = help.map(|help| format!("; {help}")).unwrap_or_default();
    format!("Line {line}: {}{help}", finding.message)
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Missing(id) => Self::not_found(format!("Credential `{id}` does not exist.")),
            AccessError::Full => Self::new(ProblemKind::Conflict, "There are too many credentials. Revoke some."),
            // The path of the file is nothing that a client must know.
            AccessError::File(..) | AccessError::Damaged(..) | AccessError::NoRandom => Self::new(
                ProblemKind::Unavailable,
                "The credentials cannot be read. `branchpoint token list` shows why.",
            ),
        }
    }
}

impl From<InvalidLink> for Problem {
    fn from(error: InvalidLink) -> Self {
        match error {
            InvalidLink::Invalid => {
                Self::new(ProblemKind::LinkInvalid, "The link is invalid. Open it from the mail again, or sign in.")
            }
            InvalidLink::Expired => Self::new(ProblemKind::LinkExpired, "The link has expired. Sign in to vote."),
            InvalidLink::Access(error) => error.into(),
        }
    }
}

impl From<BackendError> for Problem {
    fn from(error: BackendError) -> Self {
        let detail = error.to_string();
        match error {
            BackendError::Unavailable(_) | BackendError::Incompatible(_) | BackendError::ReadOnly => {
                Self::new(ProblemKind::Unavailable, detail)
            }
            BackendError::NoResponse | BackendError::Pending => {
                Self::new(ProblemKind::Unavailable, detail).retry_after(1)
            }
            BackendError::Damaged(_) => Self::new(ProblemKind::Conflict, detail).with("code", "damaged"),
            BackendError::Rejection(rejection) => rejection.into(),
            BackendError::Session(SessionRejection::Event(_) | SessionRejection::View(_)) => {
                Self::new(ProblemKind::Conflict, detail)
            }
            BackendError::Refused(_) | BackendError::Unsupported(_) => Self::new(ProblemKind::Conflict, detail),
            BackendError::Session(_) | BackendError::BadFile(_) => Self::invalid_input(detail),
            BackendError::Limit(_) => Self::new(ProblemKind::TooLarge, detail),
        }
    }
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        let (detail, code) = (rejection.to_string(), serde_json::to_value(&rejection).unwrap_or_default());
        let problem = match rejection {
            Rejection::NoRun => Self::not_found(detail),
            Rejection::NoPart(_) | Rejection::Unstorable(_) => Self::invalid_input(detail),
            Rejection::Rejected(rejected) => Self::new(kind_of(&rejected), detail),
            Rejection::Driven
            | Rejection::Broken(_)
            | Rejection::Differs(_)
            | Rejection::NotMovable(_)
            | Rejection::UnknownCode(_) => Self::new(ProblemKind::Conflict, detail),
        };
        problem.with_rejection(code)
    }
}

/// The kind of problem of an event that a run rejects.
fn kind_of(rejected: &Rejected) -> ProblemKind {
    match rejected {
        Rejected::Vote(VoteRejection::NotRecipient) => ProblemKind::NotRecipient,
        Rejected::Vote(VoteRejection::AlreadyVoted) => ProblemKind::AlreadyVoted,
        Rejected::Vote(VoteRejection::UnknownChoice) => ProblemKind::UnknownChoice,
        Rejected::Vote(VoteRejection::ApprovalOutdated) => ProblemKind::ApprovalOutdated,
        Rejected::Vote(VoteRejection::BadForm { .. }) => ProblemKind::BadForm,
        Rejected::Vote(VoteRejection::BadDelegate(_)) => ProblemKind::BadDelegate,
        Rejected::Vote(VoteRejection::NotPending) | Rejected::NotPending => ProblemKind::NotPending,
        Rejected::TooLarge(_) => ProblemKind::TooLarge,
        Rejected::MissingFact(_) | Rejected::NotAccepted(_) | Rejected::TooDeep => ProblemKind::InvalidInput,
        _ => ProblemKind::Conflict,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use branchpoint_expr::{Diagnostic, Kind, Span};

    use super::{Problem, ProblemKind};

    #[test]
    fn an_invalid_document_names_the_line_and_the_remedy_of_its_first_error() {
        let text = "name: a\nstep_type: shell\n";
        let error = Diagnostic::error(Kind::UnknownType, Span::new(19, 24), "there is no step type `shell`");
        let findings = [error.clone().with_help("did you mean `command`?"), error];
        let problem = Problem::invalid_document(&findings, text, "a");
        let expect = "Line 2: there is no step type `shell`; did you mean `command`? (1 more error)";
        assert_eq!(problem.detail(), expect);
    }

    #[test]
    fn every_kind_has_a_name_and_a_title_of_its_own() {
        let names: BTreeSet<&str> = ProblemKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let titles: BTreeSet<&str> = ProblemKind::ALL.iter().map(|kind| kind.title()).collect();
        assert_eq!((names.len(), titles.len()), (ProblemKind::ALL.len(), ProblemKind::ALL.len()));
        assert!(ProblemKind::ALL.iter().all(|kind| !kind.status().is_success()));
    }
}
