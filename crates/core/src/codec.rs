//! The stored bytes of programs, events, snapshots, commands and values. All hosts use this encoding.
//!
//! The header has four bytes: the two magic bytes `BP`, the kind, and the version. An unknown version is rejected before the content is
//! read. Equal contents have equal bytes: fields that a newer version added are at the end of the content, and content in which they are
//! empty has the bytes of the version before. The host computes and checks the content hash of a program.
//!
//! ```
//! use branchpoint_core::codec::{CodecError, decode_event, encode_event};
//! use branchpoint_core::{Event, Stamp};
//!
//! let stamp = Stamp { now_ms: 1_000, ..Stamp::default() };
//! let mut bytes = encode_event(&stamp, &Event::Continue)?;
//! assert_eq!(decode_event(&bytes)?, (stamp, Event::Continue));
//!
//! bytes[3] = 99;
//! assert!(matches!(decode_event(&bytes), Err(CodecError::Version { found: 99, .. })));
//! # Ok::<(), CodecError>(())
//! ```

use std::fmt;

use branchpoint_expr::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command::Command;
use crate::event::{Event, Stamp};
use crate::ir::Program;
use crate::state::State;

const MAGIC: [u8; 2] = *b"BP";
const HEADER: usize = 4;
/// The initial capacity of the buffer; most events and commands fit.
const INITIAL_CAPACITY: usize = 256;

/// The kind of content that stored bytes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program.
    Program,
    /// An event with its stamp.
    Event,
    /// A snapshot of a run.
    State,
    /// A command that the host has not executed yet.
    Command,
    /// A value on its own.
    Value,
}

/// Why bytes cannot be decoded, or content cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes do not begin with `BP`.
    #[error("not data of Branchpoint: the bytes begin with {found:02x?}, expected `BP`")]
    Magic {
        /// The first bytes, up to four.
        found: Vec<u8>,
    },
    /// The bytes have another kind.
    #[error("expected {expected}, but the data is {}", kind_name(*.found))]
    Kind {
        /// The expected kind.
        expected: Kind,
        /// The byte that names the kind.
        found: u8,
    },
    /// The bytes were written by another version of Branchpoint.
    #[error(
        "the data is {kind} of format version {found}, but this build of Branchpoint reads up to version {}; use the build that wrote it",
        .kind.version()
    )]
    Version {
        /// The kind of the content.
        kind: Kind,
        /// The version in the header.
        found: u8,
    },
    /// The bytes are truncated or invalid.
    #[error("the data of {kind} is damaged: {reason}")]
    Damaged {
        /// The expected kind.
        kind: Kind,
        /// The error of the decoder.
        reason: String,
    },
    /// Bytes follow after the end of the content.
    #[error("the data of {kind} is followed by {count} unexpected bytes")]
    Trailing {
        /// The kind of the content.
        kind: Kind,
        /// The number of extra bytes.
        count: usize,
    },
    /// The content cannot be encoded, because a value is nested too deeply to be decoded.
    #[error("{kind} cannot be stored: {reason}")]
    Unstorable {
        /// The kind of the content.
        kind: Kind,
        /// The reason.
        reason: String,
    },
}

/// Encodes a program.
///
/// ```
/// let program = branchpoint_core::ir::builder::Builder::sample();
/// assert!(branchpoint_core::codec::encode_program(&program)?.starts_with(b"BP"));
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn encode_program(program: &Program) -> Result<Vec<u8>, CodecError> {
    encode(Kind::Program, program, Added { bytes: PROGRAM_ADDED, is_empty: program.budgets.is_empty() })
}

/// Decodes a program. The bytes must be those of a validated program; the host checks their hash.
///
/// ```
/// use branchpoint_core::codec::{decode_program, encode_program};
///
/// let program = branchpoint_core::ir::builder::Builder::sample();
/// assert_eq!(decode_program(&encode_program(&program)?)?.places.len(), program.places.len());
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn decode_program(bytes: &[u8]) -> Result<Program, CodecError> {
    decode(Kind::Program, bytes, PROGRAM_ADDED, |_| PROGRAM_ADDED)
}

/// Encodes an event with its stamp. [`Stamp::record`] is not stored, because it does not change what the run does.
///
/// ```
/// use branchpoint_core::codec::{decode_event, encode_event};
/// use branchpoint_core::{Event, Stamp};
///
/// let bytes = encode_event(&Stamp { record: true, ..Stamp::default() }, &Event::Continue)?;
/// assert!(!decode_event(&bytes)?.0.record);
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn encode_event(stamp: &Stamp, event: &Event) -> Result<Vec<u8>, CodecError> {
    encode(Kind::Event, &(Stamp { record: false, ..stamp.clone() }, event), Added::to_event(event))
}

/// Decodes an event and its stamp.
///
/// ```
/// use branchpoint_core::codec::{decode_event, encode_event};
/// use branchpoint_core::{Event, Stamp};
///
/// let bytes = encode_event(&Stamp::default(), &Event::start("hello"))?;
/// assert_eq!(decode_event(&bytes)?.1, Event::start("hello"));
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn decode_event(bytes: &[u8]) -> Result<(Stamp, Event), CodecError> {
    decode(Kind::Event, bytes, START_ADDED.max(STATE_ADDED), |(_, event)| Added::to_event(event).bytes)
}

/// Encodes the state of a run as a snapshot.
///
/// ```
/// use branchpoint_core::{State, codec::encode_state};
///
/// assert!(encode_state(&State::new())?.starts_with(b"BP"));
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn encode_state(state: &State) -> Result<Vec<u8>, CodecError> {
    encode(Kind::State, state, Added::to_state(state))
}

/// Decodes a snapshot.
///
/// ```
/// use branchpoint_core::State;
/// use branchpoint_core::codec::{decode_state, encode_state};
///
/// assert_eq!(decode_state(&encode_state(&State::new())?)?.seq(), 0);
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn decode_state(bytes: &[u8]) -> Result<State, CodecError> {
    decode(Kind::State, bytes, STATE_ADDED, |_| STATE_ADDED)
}

/// Encodes a command.
///
/// ```
#[doc = include_str!("../docs/waiting.txt")]
/// assert!(codec::encode_command(&outcome.commands[0])?.starts_with(b"BP"));
/// # Ok::<(), codec::CodecError>(())
/// ```
pub fn encode_command(command: &Command) -> Result<Vec<u8>, CodecError> {
    encode(Kind::Command, command, Added::default())
}

/// Decodes a command.
///
/// ```
#[doc = include_str!("../docs/waiting.txt")]
/// let bytes = codec::encode_command(&outcome.commands[0])?;
/// assert_eq!(codec::decode_command(&bytes)?, outcome.commands[0]);
/// # Ok::<(), codec::CodecError>(())
/// ```
pub fn decode_command(bytes: &[u8]) -> Result<Command, CodecError> {
    decode(Kind::Command, bytes, 0, |_| 0)
}

/// Encodes a value.
///
/// ```
/// assert!(branchpoint_core::codec::encode_value(&"hello".into())?.starts_with(b"BP"));
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn encode_value(value: &Value) -> Result<Vec<u8>, CodecError> {
    encode(Kind::Value, value, Added::default())
}

/// Decodes a value.
///
/// ```
/// use branchpoint_core::codec::{decode_value, encode_value};
///
/// assert_eq!(decode_value(&encode_value(&7.into())?)?, 7.into());
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn decode_value(bytes: &[u8]) -> Result<Value, CodecError> {
    decode(Kind::Value, bytes, 0, |_| 0)
}

/// The fields that version 2 added at the end of some content. Each of their bytes is 0 if they are empty.
#[derive(Clone, Copy, Debug, Default)]
struct Added {
    bytes: usize,
    is_empty: bool,
}

/// The bytes of an empty [`Program::budgets`].
const PROGRAM_ADDED: usize = 1;
/// The bytes of empty meters and held calls of a [`State`].
const STATE_ADDED: usize = 2;
/// The bytes of an empty budget of [`Event::Start`].
const START_ADDED: usize = 3;

impl Added {
    fn to_state(state: &State) -> Self {
        Self { bytes: STATE_ADDED, is_empty: state.meters.is_empty() && state.held.is_empty() }
    }

    fn to_event(event: &Event) -> Self {
        match event {
            Event::Start { budget, .. } => Self { bytes: START_ADDED, is_empty: budget.is_none() },
            Event::Adopt(state) => Self::to_state(state),
            _ => Self::default(),
        }
    }
}

fn encode(kind: Kind, content: &impl Serialize, added: Added) -> Result<Vec<u8>, CodecError> {
    let is_first = added.bytes == 0 || added.is_empty;
    let mut bytes = Vec::with_capacity(INITIAL_CAPACITY);
    bytes.extend([MAGIC[0], MAGIC[1], kind.mark(), if is_first { 1 } else { kind.version() }]);
    let mut bytes = postcard::to_extend(content, bytes)
        .map_err(|_| CodecError::Unstorable { kind, reason: "a value is nested too deeply".into() })?;
    if added.is_empty {
        bytes.truncate(bytes.len() - added.bytes);
    }
    Ok(bytes)
}

/// Decodes content. `most_added` is the maximum number of bytes that version 2 added, and `added` the number for decoded content.
fn decode<T: DeserializeOwned>(
    kind: Kind,
    bytes: &[u8],
    most_added: usize,
    added: impl Fn(&T) -> usize,
) -> Result<T, CodecError> {
    let Some((&[first, second, mark, version], content)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(CodecError::Magic { found: bytes.to_vec() });
    };
    if [first, second] != MAGIC {
        return Err(CodecError::Magic { found: bytes[..HEADER].to_vec() });
    }
    if mark != kind.mark() {
        return Err(CodecError::Kind { expected: kind, found: mark });
    }
    if version == 0 || version > kind.version() {
        return Err(CodecError::Version { kind, found: version });
    }
    if version == 1 && most_added > 0 {
        let mut extended = Vec::with_capacity(content.len() + most_added);
        extended.extend_from_slice(content);
        extended.resize(content.len() + most_added, 0);
        return decode_content(kind, &extended, |content| most_added - added(content));
    }
    decode_content(kind, content, |_| 0)
}

/// Decodes content that must be followed by a number of bytes.
fn decode_content<T: DeserializeOwned>(
    kind: Kind,
    bytes: &[u8],
    following: impl Fn(&T) -> usize,
) -> Result<T, CodecError> {
    match postcard::take_from_bytes::<T>(bytes) {
        Ok((content, rest)) => match (rest.len(), following(&content)) {
            (actual, expected) if actual == expected => Ok(content),
            (actual, expected) if actual > expected => Err(CodecError::Trailing { kind, count: actual - expected }),
            _ => Err(CodecError::Damaged { kind, reason: "the content is truncated".into() }),
        },
        Err(error) => Err(CodecError::Damaged { kind, reason: error.to_string() }),
    }
}

impl Kind {
    const ALL: [Self; 5] = [Self::Program, Self::Event, Self::State, Self::Command, Self::Value];

    fn mark(self) -> u8 {
        match self {
            Self::Program => b'p',
            Self::Event => b'e',
            Self::State => b's',
            Self::Command => b'c',
            Self::Value => b'v',
        }
    }

    /// The newest format version. A change of the bytes gets a new version and a golden file; old versions stay readable as long as their
    /// semantics are supported.
    fn version(self) -> u8 {
        match self {
            Self::Program | Self::Event | Self::State => 2,
            Self::Command | Self::Value => 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program => "a program",
            Self::Event => "an event",
            Self::State => "a snapshot",
            Self::Command => "a command",
            Self::Value => "a value",
        })
    }
}

fn kind_name(mark: u8) -> String {
    let kind = Kind::ALL.into_iter().find(|kind| kind.mark() == mark);
    kind.map_or_else(|| format!("of the unknown kind {mark}"), |kind| kind.to_string())
}
