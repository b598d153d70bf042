//! Scripts that name the program which reads them: `#!/usr/bin/env python3`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A text in a temporary file that only this user can read, removed when this value is dropped.
pub(crate) struct Written(PathBuf);

impl Written {
    pub(crate) fn new(script: &str) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let path = std::env::temp_dir().join(format!("branchpoint-{:032x}", u128::from_ne_bytes(random)));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let written = Self(path);
        file.write_all(script.as_bytes())?;
        Ok(written)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // A script may remove its own file, and then there is nothing left to do.
        let _ = fs::remove_file(&self.0);
    }
}

/// The program that a script names, and the file with the script that it is given; none if it names no program.
///
/// The program is started, not the file: a file that was just written may still be open in a process that is being started
/// beside this one, and the system starts no file that somebody writes.
pub(crate) fn interpreted(script: &str) -> Option<io::Result<(Command, Written)>> {
    let line = script.strip_prefix("#!")?.lines().next()?.trim();
    let (program, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if program.is_empty() {
        return None;
    }
    let mut command = Command::new(program);
    // As the system does it, the rest of the line is one argument.
    command.args(Some(argument.trim()).filter(|argument| !argument.is_empty()));
    Some(Written::new(script).map(|written| {
        command.arg(written.path());
        (command, written)
    }))
}

#[cfg(test)]
mod tests {
    use super::interpreted;

    #[track_caller]
    fn named(script: &str) -> Option<Vec<String>> {
        let (command, written) = interpreted(script)?.expect("a file can be written");
        assert_eq!(std::fs::read_to_string(written.path()).expect("it was written"), script);
        let mut words = vec![command.get_program().display().to_string()];
        words.extend(command.get_args().map(|word| word.display().to_string()));
        assert_eq!(words.pop(), Some(written.path().display().to_string()));
        let path = written.path().to_owned();
        drop(written);
        assert!(!path.exists(), "the file outlives its use");
        Some(words)
    }

    #[test]
    fn the_first_line_names_a_program_and_at_most_one_argument() {
        let words = |words: &[&str]| Some(words.iter().map(ToString::to_string).collect());
        assert_eq!(named("#!/bin/sh\nexit"), words(&["/bin/sh"]));
        assert_eq!(named("#! /usr/bin/env python3 \nexit"), words(&["/usr/bin/env", "python3"]));
        assert_eq!(named("#!/usr/bin/awk -f -v\n"), words(&["/usr/bin/awk", "-f -v"]));
        assert_eq!(named("#!\nexit"), None);
        assert_eq!(named("exit #!/bin/sh"), None);
    }
}
