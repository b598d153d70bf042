//! Scripts with a `#!` line, such as `#!/usr/bin/env python3`: they run from a temporary file.

use std::io::{self, Write as _};
use std::process::Command;

use tempfile::TempPath;

/// Writes a text to a temporary file that only this user can read. It is removed when the path is dropped.
pub(super) fn write_temporary(text: &str) -> io::Result<TempPath> {
    let mut file = tempfile::Builder::new().prefix("branchpoint-").tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file.into_temp_path())
}

/// The command that runs a script with its `#!` program, and the file with the script; `None` without such a line.
///
/// The program is started with the file as its argument. The file itself might not start: a process that is forked at the same time may
/// still have it open for writing, and the system refuses to execute such a file (`ETXTBSY`).
pub(super) fn interpreted(script: &str) -> Option<io::Result<(Command, TempPath)>> {
    let line = script.strip_prefix("#!")?.lines().next()?.trim();
    let (program, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if program.is_empty() {
        return None;
    }
    let mut command = Command::new(program);
    // As on Linux, the rest of the line is one argument.
    command.args(Some(argument.trim()).filter(|argument| !argument.is_empty()));
    Some(write_temporary(script).map(|file| {
        command.arg(&*file);
        (command, file)
    }))
}

#[cfg(test)]
mod tests {
    use super::interpreted;

    #[track_caller]
    fn named(script: &str) -> Option<Vec<String>> {
        let (command, file) = interpreted(script)?.expect("a file can be written");
        assert_eq!(std::fs::read_to_string(&file).expect("it was written"), script);
        let mut words = vec![command.get_program().display().to_string()];
        words.extend(command.get_args().map(|word| word.display().to_string()));
        assert_eq!(words.pop(), Some(file.display().to_string()));
        let path = file.to_path_buf();
        drop(file);
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
