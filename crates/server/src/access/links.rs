//! Signed links to approvals, which people get by mail.
//!
//! A link names one approval, one user and an expiry, and is signed with a key of the file of credentials. The server stores nothing about
//! a link: it is used when its user has voted on its approval.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::file::{Stored, random};
use super::{Access, AccessError};

/// The longest time for which a link can be valid, in milliseconds.
pub const MAX_LINK_MS: i64 = 30 * 86_400_000;

/// After this time, new links are signed with a new key, in milliseconds.
const KEY_MS: i64 = 30 * 86_400_000;

/// The longest link that is verified, in bytes.
const MAX_BYTES: usize = 4_096;

/// The maximum number of users whose links are revoked.
const MAX_REVOKED: usize = 10_000;

/// The number of random bytes of a key.
const KEY_BYTES: usize = 32;

/// The start of what is signed, so that no other signature with this key could ever be a link.
const PURPOSE: &[u8] = b"branchpoint approval link 1\n";

/// What a link is for. It grants its user to read and vote on this approval, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalLink {
    /// The id of the run.
    pub run: String,
    /// The number of the request in the run.
    pub number: u64,
    /// When the approval was requested. A later run with the same id has other approvals.
    pub requested_ms: i64,
    /// The user who votes with the link.
    pub user: String,
    /// When the link expires.
    pub expires_ms: i64,
}

/// The signed fields: the id of the key, those of the link, and when it was signed.
#[derive(Serialize, Deserialize)]
struct Payload(String, String, u64, i64, String, i64, i64);

/// A key that signs links.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct LinkKey {
    id: String,
    secret: String,
    created_ms: i64,
}

impl std::fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LinkKey({})", self.id)
    }
}

/// The links of a user that do not work any more: those that were signed until a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RevokedLinks {
    user: String,
    at_ms: i64,
}

/// Why a link cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidLink {
    /// The link was not signed with a key of this server, or has been changed.
    #[error("the link is invalid")]
    Invalid,
    /// The link has expired.
    #[error("the link has expired")]
    Expired,
    /// The keys cannot be read.
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl Access {
    /// Signs a link. The first link of a store creates a key; a key is replaced after 30 days, and links that it has signed stay valid.
    ///
    /// # Errors
    ///
    /// The file of credentials cannot be used.
    ///
    /// ```
    /// use branchpoint_server::{Access, ApprovalLink};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let access = Access::of_store(&folder.path().join("store.db"));
    /// let link = ApprovalLink { run: "r1".into(), number: 4, requested_ms: 0, user: "ada".into(), expires_ms: 1_000 };
    /// let text = access.sign_link(&link, 0)?;
    /// assert_eq!(access.verify_link(&text, 999)?, link);
    /// assert!(access.verify_link(&text, 1_000).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign_link(&self, link: &ApprovalLink, now_ms: i64) -> Result<String, AccessError> {
        let is_current = |key: &&LinkKey| now_ms.saturating_sub(key.created_ms) < KEY_MS;
        let key = match self.read()?.link_keys.last().filter(is_current) {
            Some(key) => key.clone(),
            None => self.change(now_ms, |stored| {
                // Another process may have created a key meanwhile.
                match stored.link_keys.last().filter(is_current) {
                    Some(key) => Ok(key.clone()),
                    None => stored.add_link_key(now_ms),
                }
            })?,
        };
        let expires_ms = link.expires_ms.min(now_ms.saturating_add(MAX_LINK_MS));
        let (run, user) = (link.run.clone(), link.user.clone());
        let payload = Payload(key.id.clone(), run, link.number, link.requested_ms, user, now_ms, expires_ms);
        let text = serde_json::to_vec(&payload).expect("texts and numbers are JSON");
        let text = URL_SAFE_NO_PAD.encode(text);
        let signature = URL_SAFE_NO_PAD.encode(key.mac(&text).finalize().into_bytes());
        Ok(format!("{text}.{signature}"))
    }

    /// The content of a link, if this server has signed it and it has not expired.
    ///
    /// # Errors
    ///
    /// The link is invalid or has expired, or the keys cannot be read.
    pub fn verify_link(&self, text: &str, now_ms: i64) -> Result<ApprovalLink, InvalidLink> {
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidLink::Invalid);
        if text.len() > MAX_BYTES {
            return Err(InvalidLink::Invalid);
        }
        let (signed, signature) = text.split_once('.').ok_or(InvalidLink::Invalid)?;
        let payload = serde_json::from_slice(&decode(signed)?).map_err(|_| InvalidLink::Invalid)?;
        let Payload(id, run, number, requested_ms, user, signed_ms, expires_ms) = payload;
        let Stored { link_keys, revoked_links, .. } = self.read()?;
        let key = link_keys.into_iter().find(|key| key.id == id).ok_or(InvalidLink::Invalid)?;
        // This compares in a time that does not depend on the content.
        key.mac(signed).verify_slice(&decode(signature)?).map_err(|_| InvalidLink::Invalid)?;
        if revoked_links.iter().any(|revoked| revoked.user == user && signed_ms <= revoked.at_ms) {
            return Err(InvalidLink::Invalid);
        }
        if expires_ms <= now_ms {
            return Err(InvalidLink::Expired);
        }
        Ok(ApprovalLink { run, number, requested_ms, user, expires_ms })
    }

    /// Makes all links invalid that were signed for a user, or for everybody. New links are valid.
    ///
    /// # Errors
    ///
    /// The file of credentials cannot be used.
    pub fn revoke_links(&self, user: Option<&str>, now_ms: i64) -> Result<(), AccessError> {
        self.change(now_ms, |stored| {
            let Some(user) = user else {
                stored.link_keys.clear();
                return stored.add_link_key(now_ms).map(drop);
            };
            let can_matter = |revoked: &RevokedLinks| now_ms.saturating_sub(revoked.at_ms) < MAX_LINK_MS;
            stored.revoked_links.retain(|revoked| can_matter(revoked) && revoked.user != user);
            if stored.revoked_links.len() >= MAX_REVOKED {
                return Err(AccessError::Full);
            }
            stored.revoked_links.push(RevokedLinks { user: user.to_owned(), at_ms: now_ms });
            Ok(())
        })
    }

    /// Signs new links with a new key. Earlier links stay valid.
    ///
    /// # Errors
    ///
    /// The file of credentials cannot be used.
    pub fn rotate_link_key(&self, now_ms: i64) -> Result<(), AccessError> {
        self.change(now_ms, |stored| stored.add_link_key(now_ms).map(drop))
    }
}

impl Stored {
    /// Adds a key, and removes those whose links have all expired.
    fn add_link_key(&mut self, now_ms: i64) -> Result<LinkKey, AccessError> {
        let successors = self.link_keys.iter().skip(1).map(|key| key.created_ms).chain([now_ms]).collect::<Vec<_>>();
        let mut successors = successors.into_iter();
        self.link_keys.retain(|key| {
            // A key signs links until it is too old or has a successor.
            let successor_ms = successors.next().unwrap_or(now_ms);
            let last_ms = successor_ms.min(key.created_ms.saturating_add(KEY_MS));
            now_ms.saturating_sub(last_ms) < MAX_LINK_MS
        });
        let key = LinkKey { id: random(6)?, secret: random(KEY_BYTES)?, created_ms: now_ms };
        self.link_keys.push(key.clone());
        Ok(key)
    }
}

impl LinkKey {
    fn mac(&self, text: &str) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).expect("HMAC accepts keys of every length");
        mac.chain_update(PURPOSE).chain_update(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> (tempfile::TempDir, Access) {
        let folder = tempfile::tempdir().unwrap();
        let access = Access::of_store(&folder.path().join("store.db"));
        (folder, access)
    }

    fn link() -> ApprovalLink {
        ApprovalLink { run: "r1".into(), number: 4, requested_ms: 5, user: "ada".into(), expires_ms: 1_000 }
    }

    #[test]
    fn every_changed_byte_makes_a_link_invalid() {
        let (_folder, access) = access();
        let text = access.sign_link(&link(), 0).unwrap();
        assert_eq!(access.verify_link(&text, 0).unwrap(), link());
        for at in 0..text.len() {
            for other in ["A", "b", "-", "."] {
                let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                let verified = access.verify_link(&changed, 0);
                assert!(changed == text || matches!(verified, Err(InvalidLink::Invalid)), "{changed}");
            }
            assert!(access.verify_link(&text[..at], 0).is_err());
        }
        for forged in ["", ".", "a.b", &format!("{text}."), &format!("{text}A"), &"a".repeat(10_000)] {
            assert!(matches!(access.verify_link(forged, 0), Err(InvalidLink::Invalid)), "{forged}");
        }
    }

    #[test]
    fn a_link_of_another_server_is_invalid() {
        let ((_one, access), (_two, other)) = (self::access(), self::access());
        access.sign_link(&link(), 0).unwrap();
        let text = other.sign_link(&link(), 0).unwrap();
        assert!(matches!(access.verify_link(&text, 0), Err(InvalidLink::Invalid)));
    }

    #[test]
    fn a_link_cannot_be_valid_for_longer_than_the_limit() {
        let (_folder, access) = access();
        let text = access.sign_link(&ApprovalLink { expires_ms: i64::MAX, ..link() }, 0).unwrap();
        assert_eq!(access.verify_link(&text, 0).unwrap().expires_ms, MAX_LINK_MS);
        assert!(matches!(access.verify_link(&text, MAX_LINK_MS), Err(InvalidLink::Expired)));
    }

    #[test]
    fn links_outlive_the_rotation_of_their_key_unless_it_is_revoked() {
        let (folder, access) = access();
        let late = ApprovalLink { expires_ms: i64::MAX, ..link() };
        let first = access.sign_link(&late, 0).unwrap();
        let second = access.sign_link(&late, KEY_MS).unwrap();
        assert!(access.verify_link(&first, KEY_MS - 1).is_ok() && access.verify_link(&second, KEY_MS).is_ok());
        let keys = || access.read().unwrap().link_keys.len();
        assert_eq!(keys(), 2);
        access.rotate_link_key(KEY_MS + 1).unwrap();
        assert!(access.verify_link(&second, KEY_MS + 2).is_ok());
        access.sign_link(&late, 4 * KEY_MS).unwrap();
        assert_eq!(keys(), 1, "keys whose links have expired are removed");
        let last = Access::of_store(&folder.path().join("store.db")).sign_link(&late, 4 * KEY_MS).unwrap();
        access.revoke_links(None, 4 * KEY_MS).unwrap();
        assert!(matches!(access.verify_link(&last, 4 * KEY_MS), Err(InvalidLink::Invalid)));
    }

    #[test]
    fn the_links_of_one_user_are_revoked() {
        let (_folder, access) = access();
        let of = |user: &str, now_ms| access.sign_link(&ApprovalLink { user: user.into(), ..link() }, now_ms).unwrap();
        let (ada, eve) = (of("ada", 10), of("eve", 10));
        access.revoke_links(Some("eve"), 10).unwrap();
        assert!(access.verify_link(&ada, 20).is_ok());
        assert!(matches!(access.verify_link(&eve, 20), Err(InvalidLink::Invalid)));
        assert!(access.verify_link(&of("eve", 11), 20).is_ok(), "later links are valid");
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read() {
        let (folder, access) = access();
        let path = folder.path().join("store.db.access.json");
        std::fs::write(&path, r#"[{"id":"a","kind":"token","user":"ada","role":"viewer","workflows":["*"],"created_ms":0,"expires_ms":null,"hash":"00"}]"#)
            .unwrap();
        assert_eq!(access.list(0).unwrap().len(), 1);
        access.sign_link(&link(), 0).unwrap();
        assert_eq!(access.list(0).unwrap().len(), 1, "creating a key keeps the credentials");
    }
}
