//! Golden journals. The fold of a journal never changes under one semantics number, so a recorded journal with its program and
//! final state is a test of every later build.
//!
//! The text form has a line for the `program`, a line for each `event` with its check word, and a line for the `state`, in hex.

use std::fmt::Write;

use branchpoint_core::codec::{decode_event, decode_program, encode_state};
use branchpoint_core::{Fold, State};

/// A stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The bytes of the program.
    pub program: Vec<u8>,
    /// The bytes of each event and its check word.
    pub rows: Vec<(Vec<u8>, u32)>,
    /// The bytes of the final state.
    pub end: Vec<u8>,
}

impl Journal {
    /// Folds the journal with this build. The error names the difference.
    pub fn fold(&self) -> Result<(), String> {
        let program = decode_program(&self.program).map_err(|error| error.to_string())?;
        let decoded =
            self.rows.iter().map(|(bytes, check)| decode_event(bytes).map(|(stamp, event)| (stamp, event, *check)));
        let rows: Vec<_> = decoded.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let state = Fold::new(&program, State::new(), rows).finish().map_err(|error| error.to_string())?;
        let end = encode_state(&state).map_err(|error| error.to_string())?;
        if end == self.end { Ok(()) } else { Err("the events fold to another state".into()) }
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        let mut text = format!("program {}\n", hex(&self.program));
        for (bytes, check) in &self.rows {
            writeln!(text, "event {check:08x} {}", hex(bytes)).expect("writing to a text does not fail");
        }
        text + &format!("state {}\n", hex(&self.end))
    }

    /// Parses the text form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut journal = Self { program: Vec::new(), rows: Vec::new(), end: Vec::new() };
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let parsed = match words[..] {
                ["program", bytes] => unhex(bytes).map(|bytes| journal.program = bytes),
                ["event", check, bytes] => u32::from_str_radix(check, 16)
                    .ok()
                    .zip(unhex(bytes))
                    .map(|(check, bytes)| journal.rows.push((bytes, check))),
                ["state", bytes] => unhex(bytes).map(|bytes| journal.end = bytes),
                _ => None,
            };
            parsed.ok_or_else(|| format!("line {number} is not a valid line of a journal"))?;
        }
        Ok(journal)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a text does not fail");
        hex
    })
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok().filter(|_| pair.len() == 2)).collect()
}
