//! Sends mail over SMTP.

use std::net::IpAddr;

use branchpoint_core::effect::MailRequest;
use lettre::message::{Mailbox, MessageBuilder, MultiPart, SinglePart};
use lettre::transport::smtp::Error;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use sha2::{Digest, Sha256};
use url::Url;

use super::Tools;
use super::failure::{denied, failed, impossible, refused};
use super::wire::reason;
use crate::hexadecimal::hexadecimal;
use crate::network::clients::install_crypto;
use crate::runner::{Answer, Call};
use crate::shorten::shortened;

/// Adds a mailbox to one of the lists of a message.
type Add = fn(MessageBuilder, Mailbox) -> MessageBuilder;

pub(super) type Server = AsyncSmtpTransport<Tokio1Executor>;

impl Tools {
    /// Performs `mail`. The value is the id of the message.
    pub(super) async fn mail(&self, call: &Call, request: &MailRequest) -> Result<Answer, Answer> {
        let (server, from) = self.mail_server().map_err(impossible)?;
        let (message, id) = message(call, request, from)?;
        server.send(message).await.map_err(|error| send_failure(&error))?;
        Ok(Answer::data(id))
    }

    /// The mail server and the sender, or the missing setting.
    pub(super) fn mail_server(&self) -> Result<(Server, Mailbox), String> {
        let settings = self.settings.mail.as_ref().ok_or(
            "no mail server is configured; add [mail] with url = \"smtps://user@host\" and from to the settings",
        )?;
        let from = settings
            .from
            .parse()
            .map_err(|error| format!("`from` of [mail] in the settings is not a mail address: {error}"))?;
        let mut url = Url::parse(&settings.url)
            .map_err(|error| format!("`url` of [mail] in the settings is not a valid URL: {error}"))?;
        if url.password().is_some() {
            return Err(
                "`url` of [mail] in the settings contains a password; remove it, and name the environment variable \
             with the password in password_env"
                    .to_owned(),
            );
        }
        if settings.password_env.is_some() && is_unencrypted(&url) {
            return Err("`url` of [mail] in the settings would send the password unencrypted; write \
                        smtps://user@host, or smtp://user@host:587?tls=required"
                .to_owned());
        }
        if let Some(name) = &settings.password_env {
            let password = self.lookup.get(name).ok_or_else(|| {
                format!("the mail server needs a password in the environment variable {name}, which is not set")
            })?;
            url.set_password(Some(&password))
                .map_err(|()| "`url` of [mail] in the settings must contain a host and a user".to_owned())?;
        }
        install_crypto();
        let server = Server::from_url(url.as_str())
            // The error may contain the URL, which has the password by now.
            .map_err(|_| "`url` of [mail] in the settings is not the URL of a mail server; write smtps://user@host".to_owned())?;
        Ok((server.build(), from))
    }
}

/// Whether the connection to a server on another machine is unencrypted.
fn is_unencrypted(url: &Url) -> bool {
    let is_secured =
        url.scheme() != "smtp" || url.query_pairs().any(|(key, value)| key == "tls" && value == "required");
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    !is_secured && !is_local
}

/// The message and its id. A repeated call has the same id, so that mail programs recognise duplicates.
fn message(call: &Call, request: &MailRequest, from: Mailbox) -> Result<(Message, String), Answer> {
    let domain = from.email.domain().to_owned();
    let mut builder = Message::builder().from(from);
    let mut recipients = 0;
    let lists: [(&str, &[String], Add); 4] = [
        ("to", &request.to, MessageBuilder::to),
        ("cc", &request.cc, MessageBuilder::cc),
        ("bcc", &request.bcc, MessageBuilder::bcc),
        ("reply_to", &request.reply_to, MessageBuilder::reply_to),
    ];
    for (key, texts, add) in lists {
        for mailbox in mailboxes(key, texts)? {
            recipients += usize::from(key != "reply_to");
            builder = add(builder, mailbox);
        }
    }
    if recipients == 0 {
        return Err(impossible("the mail has no recipient; set `to`, `cc` or `bcc`"));
    }
    let digest = Sha256::digest(call.key().as_bytes());
    let digits = hexadecimal(&digest[..16]);
    let id = format!("<{digits}@{domain}>");
    let builder = builder.subject(request.subject.clone().unwrap_or_default()).message_id(Some(id.clone()));
    let message = match (request.text_body.clone(), request.html_body.clone()) {
        (Some(text), Some(page)) => builder.multipart(MultiPart::alternative_plain_html(text, page)),
        (None, Some(page)) => builder.singlepart(SinglePart::html(page)),
        (text, None) => builder.singlepart(SinglePart::plain(text.unwrap_or_default())),
    };
    let message = message.map_err(|error| impossible(format!("the mail cannot be composed: {error}")))?;
    Ok((message, id))
}

/// Parses mailboxes, which may be separated by commas.
fn mailboxes(key: &str, texts: &[String]) -> Result<Vec<Mailbox>, Answer> {
    let mut boxes = Vec::new();
    for text in texts.iter().filter(|text| !text.trim().is_empty()) {
        let many: lettre::message::Mailboxes = text
            .trim()
            .parse()
            .map_err(|_| impossible(format!("`{}` in `{key}` is not a mail address", shortened(text.trim()))))?;
        boxes.extend(many);
    }
    Ok(boxes)
}

fn send_failure(error: &Error) -> Answer {
    let what = match error.status() {
        Some(code) => format!("the mail server rejected the mail with {code}: {}", reason(error)),
        None => format!("the mail server cannot be reached, or the connection was lost: {}", reason(error)),
    };
    if error.is_permanent() {
        refused(what)
    } else if error.is_transient() {
        denied(what)
    } else {
        failed(what)
    }
}
