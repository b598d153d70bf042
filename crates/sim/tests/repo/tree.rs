//! The working tree as the checks see it, and how they complain.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file that is committed or about to be: its path from the root, with `/` between the parts, and its text.
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl SourceFile {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// The part of the file name after its last dot.
    pub(crate) fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

/// The root of the repository: two levels above this crate.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    root.canonicalize().expect("the crate lies two levels below the root of the repository")
}

/// Every text file that git tracks or would track. What is ignored, deleted or not text is left out.
pub(crate) fn text_files() -> Vec<SourceFile> {
    let root = root();
    // The checkout may belong to another user than the one who tests it, as it does in many containers.
    let trust = format!("safe.directory={}", root.display());
    let listing = run(
        Command::new("git").current_dir(&root).args(["-c", &trust, "ls-files", "-coz", "--exclude-standard"]),
        "the repo checks read the list of files from git, so they need git and a checkout (not an unpacked archive)",
    );
    let files: Vec<SourceFile> = listing
        .split('\0')
        .filter(|path| !path.is_empty())
        .filter_map(|path| {
            let bytes = std::fs::read(root.join(path)).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            (!text.contains('\0')).then(|| SourceFile::new(path, text))
        })
        .collect();
    assert!(
        files.iter().any(|file| file.path == "crates/sim/tests/repo/tree.rs"),
        "git lists {} text files below {}, but not this check itself, so the list cannot be right",
        files.len(),
        root.display()
    );
    files
}

/// Runs a command and gives its standard output; anything but success ends the test with `help`.
pub(crate) fn run(command: &mut Command, help: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}\nhelp: {help}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}\n{errors}\nhelp: {help}", output.status);
    String::from_utf8(output.stdout)
        .unwrap_or_else(|error| panic!("{command:?} printed something else than text: {error}"))
}

/// Ends the test with all complaints at once and what to do about them.
#[track_caller]
pub(crate) fn expect_none(complaints: &[String], help: &str) {
    assert!(complaints.is_empty(), "\n  {}\nhelp: {help}\n", complaints.join("\n  "));
}

#[test]
fn extension_is_what_follows_the_last_dot_of_the_name() {
    assert_eq!(SourceFile::new("a.b/c.test.tsx", "").extension(), "tsx");
    assert_eq!(SourceFile::new("a.b/Makefile", "").extension(), "");
}
