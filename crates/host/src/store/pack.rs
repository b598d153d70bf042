//! Packs values for storage: in stored bytes, placeholders replace large values by their hashes and secrets by their numbers.
//!
//! Only rows whose `packed` is set have placeholders. In them, a text that begins with a zero byte is encoded: `\0b` and a hash is
//! a large value, `\0n` and a number is a secret that is a number, and after `\0s` each zero byte begins an escape: `\0\0` is a zero
//! byte, `\0n;` the secret with that number, `\0n:e;` that secret in an [`Encoding`], and `\0n:e/a-b;` its bytes from `a` up to `b`.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use branchpoint_core::{Command, Event, State, codec};
use branchpoint_expr::{Object, Value};
use rusqlite::params;

use super::workflows::hash;
use super::{RunNo, Store, StoreError};
use branchpoint_runners::hexadecimal;
use branchpoint_runners::{Encoding, Finder, SecretMatch};

/// Replaces a secret that cannot be opened.
const MASK: &str = "***";

/// The size up to which a value is stored in its row.
pub(crate) const MAX_INLINE_BYTES: usize = 256 * 1024;

/// The size that the placeholder of a large value counts. It is more than its text, so that a value with a few large values is large
/// too: values that are shared on each level stay shared on each level.
const PLACEHOLDER_BYTES: usize = MAX_INLINE_BYTES / 8;

/// The size from which a shared list or object is packed once. Smaller ones are packed wherever they appear.
const MIN_SHARED_BYTES: u64 = 4096;

/// The stored bytes of a row, and the large values that they refer to.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) packed: bool,
    blobs: Vec<([u8; 32], Vec<u8>)>,
}

impl Packed {
    /// All stored bytes: the row and its large values.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.blobs.iter().map(|(_, bytes)| bytes).chain([&self.bytes]).map(Vec::as_slice)
    }
}

/// Packs the values of one run. It has the run's secrets by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    pub(crate) secrets: Arc<[String]>,
    /// Why the secrets cannot be read; `None` if they can.
    pub(crate) unavailable_secrets: Option<Arc<str>>,
    /// Finds the secrets in texts, in every encoding. Built when it is first needed.
    finder: Arc<OnceLock<Option<Finder>>>,
}

type Result<T> = std::result::Result<T, codec::CodecError>;

impl Packing {
    /// A packing with these secrets; their order gives them their numbers.
    pub(crate) fn new(secrets: impl Into<Arc<[String]>>) -> Self {
        Self { secrets: secrets.into(), ..Self::default() }
    }

    /// A packing of a run whose secrets cannot be read: they stay hidden.
    pub(crate) fn unavailable_secrets(why: String) -> Self {
        Self { unavailable_secrets: Some(why.into()), ..Self::default() }
    }

    fn finder(&self) -> Option<&Finder> {
        self.finder.get_or_init(|| Finder::of(&self.secrets)).as_ref()
    }

    /// Packs something that contains values. `map` calls the packer with each value.
    fn pack<T: Clone>(
        &self,
        whole: &T,
        unfolded_bytes: u64,
        encode: impl Fn(&T) -> Result<Vec<u8>>,
        map: impl Fn(&mut T, &mut dyn FnMut(&mut Value)),
    ) -> Result<Packed> {
        // Most rows are small and contain no secret, so nothing is copied. A value never has fewer bytes than an eighth of its
        // unfolded size.
        if self.secrets.is_empty() && unfolded_bytes / 8 <= MAX_INLINE_BYTES as u64 {
            let bytes = encode(whole)?;
            if bytes.len() <= MAX_INLINE_BYTES {
                return Ok(Packed { bytes, ..Packed::default() });
            }
        }
        let mut packer = Packer {
            secrets: &self.secrets,
            finder: self.finder(),
            blobs: Vec::new(),
            remembered: HashMap::new(),
            failed: None,
        };
        let mut whole = whole.clone();
        map(&mut whole, &mut |value| *value = packer.pack(value).0);
        packer.failed.map_or(Ok(()), Err)?;
        Ok(Packed { bytes: encode(&whole)?, packed: true, blobs: packer.blobs })
    }

    pub(crate) fn event(&self, stamp: &branchpoint_core::Stamp, event: &Event) -> Result<Packed> {
        self.pack(event, event_bytes(event), |event| codec::encode_event(stamp, event), map_event)
    }

    pub(crate) fn command(&self, command: &Command) -> Result<Packed> {
        let bytes = if let Command::Perform { input, .. } = command { input.size().bytes } else { 0 };
        self.pack(command, bytes, codec::encode_command, map_command)
    }

    pub(crate) fn state(&self, state: &State) -> Result<Packed> {
        self.pack(state, state.size_bytes(), codec::encode_state, State::map_values)
    }

    pub(crate) fn value(&self, value: &Value) -> Result<Packed> {
        self.pack(value, value.size().bytes, codec::encode_value, |value, map| map(value))
    }
}

/// The unfolded size of the values of an event.
fn event_bytes(event: &Event) -> u64 {
    match event {
        Event::Start { input, facts, .. } => facts.values().chain([input]).map(|value| value.size().bytes).sum(),
        Event::Settled { result: Ok(value), .. } | Event::Signal { payload: value, .. } => value.size().bytes,
        Event::Adopt(state) => state.size_bytes(),
        Event::Settled { .. } | Event::TimerFired(_) | Event::Cancel { .. } | Event::Continue => 0,
    }
}

fn map_event(event: &mut Event, map: &mut dyn FnMut(&mut Value)) {
    match event {
        Event::Start { input, facts, .. } => {
            map(input);
            facts.values_mut().for_each(map);
        }
        Event::Settled { result: Ok(value), .. } | Event::Signal { payload: value, .. } => map(value),
        Event::Settled { result: Err(failed), .. } => {
            let mut message = Value::Str(failed.message.clone());
            map(&mut message);
            failed.message = message.as_str().unwrap_or_default().into();
        }
        Event::Adopt(state) => state.map_values(map),
        Event::Cancel { reason: Some(reason) } => {
            let mut text = Value::Str(reason.clone());
            map(&mut text);
            *reason = text.as_str().unwrap_or_default().into();
        }
        Event::TimerFired(_) | Event::Cancel { reason: None } | Event::Continue => {}
    }
}

fn map_command(command: &mut Command, map: &mut dyn FnMut(&mut Value)) {
    if let Command::Perform { input, .. } = command {
        map(input);
    }
}

struct Packer<'s> {
    secrets: &'s [String],
    finder: Option<&'s Finder>,
    blobs: Vec<([u8; 32], Vec<u8>)>,
    /// The packed forms of large lists and objects by identity: a shared one is packed once.
    remembered: HashMap<usize, (Value, usize)>,
    failed: Option<codec::CodecError>,
}

impl Packer<'_> {
    /// The value in its stored form, and its approximate size in bytes.
    fn pack(&mut self, value: &Value) -> (Value, usize) {
        let identity = match value {
            Value::List(list) if list.size().bytes > MIN_SHARED_BYTES => list.identity(),
            Value::Object(object) if object.size().bytes > MIN_SHARED_BYTES => object.identity(),
            _ => return self.pack_parts(value),
        };
        if let Some(packed) = self.remembered.get(&identity) {
            return packed.clone();
        }
        let packed = self.pack_parts(value);
        self.remembered.insert(identity, packed.clone());
        packed
    }

    fn pack_parts(&mut self, value: &Value) -> (Value, usize) {
        let (packed, bytes) = match value {
            Value::Str(text) => {
                let text = self.text(text);
                let length = text.len();
                (Value::Str(text), length)
            }
            Value::List(list) => {
                let (packed, sizes): (Vec<_>, Vec<_>) = list.iter().map(|item| self.pack(item)).unzip();
                (Value::from(packed), sizes.iter().sum())
            }
            Value::Object(object) => {
                let mut bytes = 0;
                let fields = object.iter().map(|(key, value)| {
                    let (value, size) = self.pack(value);
                    let key = self.text(key);
                    bytes += size + key.len();
                    (key, value)
                });
                let packed = fields.collect::<Object>();
                (Value::from(packed), bytes)
            }
            number @ (Value::Int(_) | Value::Float(_)) => (self.number(number), 8),
            other => (other.clone(), 8),
        };
        if bytes <= MAX_INLINE_BYTES { (packed, bytes) } else { self.move_to_blob(&packed) }
    }

    fn move_to_blob(&mut self, value: &Value) -> (Value, usize) {
        let bytes = match codec::encode_value(value) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.failed = Some(error);
                return (Value::Null, 0);
            }
        };
        let hash = hash([bytes.as_slice()]);
        self.blobs.push((hash, bytes));
        (Value::from(format!("\0b{}", hexadecimal(&hash))), PLACEHOLDER_BYTES)
    }

    /// Replaces a number that is a secret by a placeholder.
    fn number(&self, number: &Value) -> Value {
        let written = number.to_string();
        let secret = self.secrets.iter().position(|secret| *secret == written);
        secret.map_or_else(|| number.clone(), |secret| Value::from(format!("\0n{secret}")))
    }

    fn text(&self, text: &Arc<str>) -> Arc<str> {
        let matches = self.finder.map(|finder| finder.forms_in(text)).unwrap_or_default();
        if matches.is_empty() && !text.starts_with('\0') {
            return text.clone();
        }
        let (mut hidden, mut from) = ("\0s".to_owned(), 0);
        for SecretMatch { place, secret, encoding, part } in matches {
            hidden.push_str(&text[from..place.start].replace('\0', "\0\0"));
            // Writing into a text cannot fail.
            let _ = match (encoding, part) {
                (Encoding::Plain, None) => write!(hidden, "\0{secret};"),
                (_, None) => write!(hidden, "\0{secret}:{encoding};"),
                (_, Some(part)) => write!(hidden, "\0{secret}:{encoding}/{}-{};", part.start, part.end),
            };
            from = place.end;
        }
        hidden.push_str(&text[from..].replace('\0', "\0\0"));
        hidden.into()
    }
}

impl Store {
    /// Stores the large values that a row refers to.
    pub(crate) fn put_large_values(&self, run: RunNo, packed: &Packed) -> std::result::Result<(), StoreError> {
        packed.blobs.iter().try_for_each(|(hash, bytes)| self.put_blob(run, hash, bytes))
    }

    /// Stores bytes of a run under their hash.
    pub(super) fn put_blob(&self, run: RunNo, hash: &[u8; 32], bytes: &[u8]) -> std::result::Result<(), StoreError> {
        self.execute("INSERT OR IGNORE INTO blobs (hash, bytes) VALUES (?1, ?2)", params![hash, bytes])?;
        self.execute("INSERT OR IGNORE INTO blob_uses (run, hash) VALUES (?1, ?2)", params![run.0, hash]).map(drop)
    }

    /// Replaces placeholders by their large values and secrets.
    pub(crate) fn unpack_event(&self, packing: &Packing, event: &mut Event) -> std::result::Result<(), StoreError> {
        self.unpack_all(packing, |map| map_event(event, map))?;
        if let Event::Adopt(state) = event {
            state.recount_size();
        }
        Ok(())
    }

    pub(crate) fn unpack_command(
        &self,
        packing: &Packing,
        command: &mut Command,
    ) -> std::result::Result<(), StoreError> {
        self.unpack_all(packing, |map| map_command(command, map))
    }

    pub(crate) fn unpack_state(&self, packing: &Packing, state: &mut State) -> std::result::Result<(), StoreError> {
        self.unpack_all(packing, |map| state.map_values(map))?;
        // Masks of unavailable secrets have another size.
        if packing.unavailable_secrets.is_some() {
            state.recount_size();
        }
        Ok(())
    }

    pub(crate) fn unpack_value(&self, packing: &Packing, value: &mut Value) -> std::result::Result<(), StoreError> {
        self.unpack_all(packing, |map| map(value))
    }

    fn unpack_all(
        &self,
        packing: &Packing,
        each: impl FnOnce(&mut dyn FnMut(&mut Value)),
    ) -> std::result::Result<(), StoreError> {
        let mut failed = Ok(());
        let mut unpacker = Unpacker { store: self, packing, blobs: HashMap::new() };
        each(&mut |value| match unpacker.unpack(value) {
            Ok(whole) => *value = whole,
            Err(error) => failed = Err(error),
        });
        failed
    }

    fn blob(&self, hash: &str) -> std::result::Result<Value, StoreError> {
        let sql = "SELECT bytes FROM blobs WHERE hash = unhex(?1)";
        let bytes: Option<Vec<u8>> = self.first(sql, [hash], |row| row.get(0))?;
        let bytes = bytes.ok_or_else(|| StoreError::Missing(format!("large value {hash}")))?;
        codec::decode_value(&bytes).map_err(|error| StoreError::Bytes { run: format!("large value {hash}"), error })
    }
}

struct Unpacker<'s> {
    store: &'s Store,
    packing: &'s Packing,
    /// The large values that were read, by hash: each is read once and shared.
    blobs: HashMap<String, Value>,
}

impl Unpacker<'_> {
    fn unpack(&mut self, value: &Value) -> std::result::Result<Value, StoreError> {
        Ok(match value {
            Value::Str(text) => match text.strip_prefix("\0b") {
                Some(hash) => self.blob(hash)?,
                None => number(self.packing, text).unwrap_or_else(|| Value::Str(shown(self.packing, text))),
            },
            Value::List(list) => {
                Value::from(list.iter().map(|item| self.unpack(item)).collect::<std::result::Result<Vec<_>, _>>()?)
            }
            Value::Object(object) => {
                let fields = object.iter().map(|(key, value)| Ok((shown(self.packing, key), self.unpack(value)?)));
                Value::from(fields.collect::<std::result::Result<Object, StoreError>>()?)
            }
            other => other.clone(),
        })
    }

    fn blob(&mut self, hash: &str) -> std::result::Result<Value, StoreError> {
        if let Some(value) = self.blobs.get(hash) {
            return Ok(value.clone());
        }
        let value = self.unpack(&self.store.blob(hash)?)?;
        self.blobs.insert(hash.to_owned(), value.clone());
        Ok(value)
    }
}

/// The secret number that a stored text is the placeholder of, if it is one.
fn number(packing: &Packing, text: &str) -> Option<Value> {
    let secret = packing.secrets.get(text.strip_prefix("\0n")?.parse::<usize>().ok()?);
    Some(secret.and_then(|secret| serde_json::from_str(secret).ok()).unwrap_or_else(|| Value::from(MASK)))
}

/// Decodes a stored text.
fn shown(packing: &Packing, text: &Arc<str>) -> Arc<str> {
    let Some(hidden) = text.strip_prefix("\0s") else { return text.clone() };
    let mut shown = String::new();
    let mut rest = hidden;
    while let Some((before, after)) = rest.split_once('\0') {
        shown.push_str(before);
        rest = if let Some(after) = after.strip_prefix('\0') {
            shown.push('\0');
            after
        } else if let Some((placeholder, after)) = after.split_once(';') {
            // A secret that cannot be opened is masked.
            shown.push_str(secret(packing, placeholder).as_deref().unwrap_or(MASK));
            after
        } else {
            shown.push('\0');
            after
        };
    }
    shown.push_str(rest);
    shown.into()
}

/// The secret of a placeholder, in the placeholder's encoding.
fn secret(packing: &Packing, placeholder: &str) -> Option<String> {
    let (number, form) = placeholder.split_once(':').unwrap_or((placeholder, ""));
    let secret = packing.secrets.get(number.parse::<usize>().ok()?)?;
    let (encoding, part) = form.split_once('/').map_or((form, None), |(encoding, part)| (encoding, Some(part)));
    let whole = Encoding::named(encoding)?.write(secret)?;
    let Some(part) = part else { return Some(whole) };
    let (start, end) = part.split_once('-')?;
    whole.get(start.parse().ok()?..end.parse().ok()?).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secrets: &[&str], value: &Value, absent: &str) {
        let store = Store::in_memory().expect("memory is there");
        let packing = Packing::new(secrets.iter().map(|secret| (*secret).to_owned()).collect::<Vec<_>>());
        let packed = packing.value(value).expect("it is shallow");
        store.put_large_values(RunNo(1), &packed).expect("there is room");
        assert!(packed.bytes.len() < 1_000, "the row has {} bytes", packed.bytes.len());
        let row = String::from_utf8_lossy(&packed.bytes).into_owned();
        assert!(absent.is_empty() || !row.contains(absent), "{row:?} holds {absent:?}");
        let mut back = codec::decode_value(&packed.bytes).expect("it was encoded");
        if packed.packed {
            store.unpack_value(&packing, &mut back).expect("everything is there");
        }
        assert_eq!(&back, value);
    }

    fn json(text: &str) -> Value {
        serde_json::from_str(text).expect("this is JSON")
    }

    #[test]
    fn small_values_stay_as_they_are() {
        check(&[], &json(r#"{"a": [1, "x", null], "\u0000b": "\u0000s"}"#), "");
    }

    #[test]
    fn large_values_are_blobs_wherever_they_are() {
        let large = Value::from("x".repeat(MAX_INLINE_BYTES + 1));
        let fields = [("list".into(), Value::from(vec![large.clone(), large])), ("\0s".into(), Value::from("\0b12"))];
        check(&[], &Value::from(fields.into_iter().collect::<Object>()), "xxxx");
        let many: Vec<Value> = (0..100_000).map(Value::Int).collect();
        check(&[], &Value::from(vec![Value::from(many)]), "");
    }

    /// Equal values are stored once and shared when they are read, instead of unfolding to 2^20 lists.
    #[test]
    fn shared_values_are_packed_and_read_once() {
        let mut value = Value::from(vec![Value::from("x".repeat(1_000))]);
        for _ in 0..20 {
            value = Value::from(vec![value.clone(), value]);
        }
        let store = Store::in_memory().expect("memory is there");
        let packing = Packing::default();
        let packed = packing.value(&value).expect("it is shallow");
        assert!(packed.blobs.len() <= 20, "{} large values", packed.blobs.len());
        store.put_large_values(RunNo(1), &packed).expect("there is room");
        let mut back = codec::decode_value(&packed.bytes).expect("it was encoded");
        store.unpack_value(&packing, &mut back).expect("everything is there");
        assert_eq!(back.size(), value.size());
        let (mut seen, mut unread) = (std::collections::HashSet::new(), vec![&back]);
        while let Some(Value::List(list)) = unread.pop() {
            if seen.insert(list.identity()) {
                unread.extend(list.iter().filter(|item| item.as_list().is_some()));
            }
        }
        assert!(seen.len() < 2_000, "{} lists", seen.len());
    }

    #[test]
    fn secrets_are_numbers_in_texts_and_keys() {
        let value = json(r#"{"hunter2": "say hunter2, hunter2x and \u0000;", "b": ["\u0000s\u00000;", "0;"]}"#);
        check(&["hunter2x", "hunter2"], &value, "hunter");
        check(&["hunter2", "hunter2x"], &value, "hunter");
        check(&["abcdef", "0", "1"], &json(r#"{"a": "abcdef0", "b": [0, 1, 10, "\u00001;"]}"#), "abcdef");
    }

    /// A JWT is longer than the values that messages show whole, so messages show its beginning.
    const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI/+&é\"<1234567890>IiwibmFtZSI6IkpvaG4ifQ.SflKxwRJSMeKKF2QT4";

    #[test]
    fn encoded_secrets_are_replaced_too() {
        use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, Engine as _};
        let percent = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI%2F%2B%26%C3%A9%22%3C1234567890%3EIiwibmFtZSI6IkpvaG4ifQ.SflKxwRJSMeKKF2QT4";
        let hex = branchpoint_runners::hexadecimal(TOKEN.as_bytes());
        let json = serde_json::to_string(TOKEN).expect("it is text");
        let mut texts = vec![percent.to_owned(), percent.to_lowercase(), hex.clone(), hex.to_uppercase(), json];
        texts[1] = percent.replace("%2F", "%2f").replace("%2B", "%2b").replace("%C3%A9", "%c3%a9");
        texts[1] = texts[1].replace("%3C", "%3c").replace("%3E", "%3e");
        for before in ["", "a", "ab"] {
            let text = format!("{before}{TOKEN}!");
            texts.extend([BASE64_STANDARD.encode(&text), BASE64_URL_SAFE.encode(&text)]);
        }
        for text in texts {
            let absent = &text[text.len() / 2..text.len() / 2 + 12];
            check(&[TOKEN, "other-secret"], &Value::from(format!("echo <{text}>")), absent);
        }
    }

    #[test]
    fn base64_on_several_lines_is_replaced_on_each_line() {
        use base64::prelude::{BASE64_STANDARD, Engine as _};
        for before in ["", "a", "ab"] {
            let encoded = BASE64_STANDARD.encode(format!("{before}{TOKEN}!"));
            for line_break in ["\n", "\r\n", "\\n"] {
                let (first, second) = encoded.split_at(76);
                let text = format!("{first}{line_break}{second}{line_break}");
                check(&[TOKEN, "other-secret"], &Value::from(text.as_str()), &second[..12]);
                check(&[TOKEN], &Value::from(text), &first[first.len() - 12..]);
            }
        }
    }

    #[test]
    fn a_truncated_secret_is_replaced_at_every_offset() {
        for bytes in (3..TOKEN.len()).filter(|at| TOKEN.is_char_boundary(*at)) {
            let beginning = &TOKEN[..bytes];
            for text in [format!("x is {beginning}… (82 characters)"), format!("[\"{beginning}\"… (82 characters)")]
            {
                check(&[TOKEN], &Value::from(text), beginning);
            }
        }
    }
}
