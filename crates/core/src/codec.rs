//! The stored bytes of programs, events and snapshots. Both hosts use these, so both read the same.
//!
//! Four bytes come first: two that say whose bytes these are, the kind, and the version. A version that this build does not
//! know is refused before anything else is read. Equal things have equal bytes. A program's content hash is the host's
//! business.
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
/// Most events and commands fit without growing.
const USUAL: usize = 256;

/// What stored bytes can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program.
    Program,
    /// An event with its stamp.
    Event,
    /// A snapshot of a run.
    State,
    /// A command that is not carried out yet.
    Command,
    /// A value on its own.
    Value,
}

/// Why bytes cannot be read, or a thing not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// They do not begin like ours.
    #[error("these bytes are not Branchpoint's: they begin with {found:02x?}, not with `BP`")]
    Magic {
        /// The first bytes, four at most.
        found: Vec<u8>,
    },
    /// They are of another kind.
    #[error("these bytes should be {expected}, and the mark in them says {}", kind_name(*.found))]
    Kind {
        /// What was asked for.
        expected: Kind,
        /// The mark.
        found: u8,
    },
    /// They were written by another build.
    #[error(
        "these bytes are {kind} of version {found}, and this build reads version {}; use the build that wrote them",
        .kind.version()
    )]
    Version {
        /// What they are.
        kind: Kind,
        /// Their version.
        found: u8,
    },
    /// They break off or make no sense.
    #[error("these bytes should be {kind}, and they are damaged: {reason}")]
    Damaged {
        /// What was asked for.
        kind: Kind,
        /// What the reader stumbled over.
        reason: String,
    },
    /// Something follows where they should end.
    #[error("these bytes are {kind}, and {count} more follow where it ends")]
    Trailing {
        /// What they are.
        kind: Kind,
        /// How many.
        count: usize,
    },
    /// A value in it is nested more deeply than any reader would go.
    #[error("{kind} cannot be stored: {reason}")]
    Unstorable {
        /// What it is.
        kind: Kind,
        /// Why.
        reason: String,
    },
}

/// The stored form of a program.
///
/// ```
/// let program = branchpoint_core::ir::builder::Builder::sample();
/// assert!(branchpoint_core::codec::encode_program(&program)?.starts_with(b"BP"));
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn encode_program(program: &Program) -> Result<Vec<u8>, CodecError> {
    encode(Kind::Program, program)
}

/// Reads a stored program. The bytes must be those of a validated program: the host checks their hash.
///
/// ```
/// use branchpoint_core::codec::{decode_program, encode_program};
///
/// let program = branchpoint_core::ir::builder::Builder::sample();
/// assert_eq!(decode_program(&encode_program(&program)?)?.places.len(), program.places.len());
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn decode_program(bytes: &[u8]) -> Result<Program, CodecError> {
    decode(Kind::Program, bytes)
}

/// The stored form of an event with its stamp. [`Stamp::record`] is not stored, because it does not change what happens.
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
    encode(Kind::Event, &(Stamp { record: false, ..stamp.clone() }, event))
}

/// Reads a stored event and its stamp.
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
    decode(Kind::Event, bytes)
}

/// The stored form of a run's state: a snapshot.
///
/// ```
/// use branchpoint_core::{State, codec::encode_state};
///
/// assert!(encode_state(&State::new())?.starts_with(b"BP"));
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn encode_state(state: &State) -> Result<Vec<u8>, CodecError> {
    encode(Kind::State, state)
}

/// Reads a snapshot.
///
/// ```
/// use branchpoint_core::State;
/// use branchpoint_core::codec::{decode_state, encode_state};
///
/// assert_eq!(decode_state(&encode_state(&State::new())?)?.seq(), 0);
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn decode_state(bytes: &[u8]) -> Result<State, CodecError> {
    decode(Kind::State, bytes)
}

/// The stored form of a command.
///
/// ```
#[doc = include_str!("../docs/waiting.txt")]
/// assert!(codec::encode_command(&outcome.commands[0])?.starts_with(b"BP"));
/// # Ok::<(), codec::CodecError>(())
/// ```
pub fn encode_command(command: &Command) -> Result<Vec<u8>, CodecError> {
    encode(Kind::Command, command)
}

/// Reads a stored command.
///
/// ```
#[doc = include_str!("../docs/waiting.txt")]
/// let bytes = codec::encode_command(&outcome.commands[0])?;
/// assert_eq!(codec::decode_command(&bytes)?, outcome.commands[0]);
/// # Ok::<(), codec::CodecError>(())
/// ```
pub fn decode_command(bytes: &[u8]) -> Result<Command, CodecError> {
    decode(Kind::Command, bytes)
}

/// The stored form of a value.
///
/// ```
/// assert!(branchpoint_core::codec::encode_value(&"hello".into())?.starts_with(b"BP"));
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn encode_value(value: &Value) -> Result<Vec<u8>, CodecError> {
    encode(Kind::Value, value)
}

/// Reads a stored value.
///
/// ```
/// use branchpoint_core::codec::{decode_value, encode_value};
///
/// assert_eq!(decode_value(&encode_value(&7.into())?)?, 7.into());
/// # Ok::<(), branchpoint_core::codec::CodecError>(())
/// ```
pub fn decode_value(bytes: &[u8]) -> Result<Value, CodecError> {
    decode(Kind::Value, bytes)
}

fn encode(kind: Kind, content: &impl Serialize) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::with_capacity(USUAL);
    bytes.extend([MAGIC[0], MAGIC[1], kind.mark(), kind.version()]);
    postcard::to_extend(content, bytes)
        .map_err(|_| CodecError::Unstorable { kind, reason: "a value in it is nested too deeply".into() })
}

fn decode<T: DeserializeOwned>(kind: Kind, bytes: &[u8]) -> Result<T, CodecError> {
    let Some((&[first, second, mark, version], content)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(CodecError::Magic { found: bytes.to_vec() });
    };
    if [first, second] != MAGIC {
        return Err(CodecError::Magic { found: bytes[..HEADER].to_vec() });
    }
    if mark != kind.mark() {
        return Err(CodecError::Kind { expected: kind, found: mark });
    }
    if version != kind.version() {
        return Err(CodecError::Version { kind, found: version });
    }
    match postcard::take_from_bytes(content) {
        Ok((content, [])) => Ok(content),
        Ok((_, rest)) => Err(CodecError::Trailing { kind, count: rest.len() }),
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

    /// A change of the bytes gets a new number and a golden file, and the old one stays readable as long as its semantics.
    fn version(self) -> u8 {
        match self {
            Self::Program | Self::Event | Self::State | Self::Command | Self::Value => 1,
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
    let known = Kind::ALL.into_iter().find(|kind| kind.mark() == mark);
    known.map_or_else(|| format!("{mark}, which this build does not know"), |kind| kind.to_string())
}
