//! A page as a session: its files are written and its commands executed, in order, in a home directory of their own.
//!
//! ```` ```yaml title=support.yaml ```` writes the file `support.yaml` into the present folder, and with `append` adds to it.
//! ```` ```mermaid output=support.mmd ```` shows the file `support.mmd`.
//! ```` ```console ```` shows commands behind `$ `, each followed by its output; `\` at the end of a line continues a command.
//! In ```` ```console unordered ```` the lines of an output come in any order, because steps run concurrently.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::compare::{agrees, agrees_in_any_order, updated};
use crate::page::{Block, Page};
use crate::{expect_none, is_update, pages, root};

/// The longest that the commands of one page may take.
const TIME_LIMIT: Duration = Duration::from_mins(2);

/// What separates the outputs of two commands.
const SEPARATOR: char = '\u{1e}';

/// One step of a session.
enum Step<'a> {
    File { path: &'a str, text: &'a str, is_appended: bool },
    Command(Shown),
}

/// A command and the output that the page shows.
struct Shown {
    /// The number of the block and of the line.
    block: usize,
    line: usize,
    typed: String,
    output: String,
    /// Whether the block shows the output alone, without the command.
    is_bare: bool,
    /// Whether steps run concurrently, so that their lines come in any order.
    is_unordered: bool,
}

impl Shown {
    fn agrees(&self, output: &str) -> bool {
        if self.is_unordered { agrees_in_any_order(&self.output, output) } else { agrees(&self.output, output) }
    }
}

#[test]
fn every_command_prints_what_its_page_shows() {
    let pages = pages();
    let sessions: Vec<&Page> = pages.iter().filter(|page| page.blocks.iter().any(is_console)).collect();
    assert!(sessions.len() > 1, "only {} pages show commands", sessions.len());
    let (next, mut complaints) = (AtomicUsize::new(0), Vec::new());
    let workers = std::thread::available_parallelism().map_or(4, |count| count.get().max(4));
    std::thread::scope(|scope| {
        let work = || {
            let mut complaints = Vec::new();
            while let Some(page) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
                complaints.extend(check(page));
            }
            complaints
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            complaints.extend(worker.join().expect("a worker ends"));
        }
    });
    complaints.sort();
    expect_none(&complaints);
}

fn is_console(block: &Block) -> bool {
    block.language() == "console"
}

/// Executes a page and compares the outputs, or writes them into the page.
fn check(page: &Page) -> Vec<String> {
    let steps = steps(page);
    let outputs = execute(page, &steps);
    let commands: Vec<&Shown> = commands(&steps).collect();
    if outputs.len() != commands.len() {
        let last = commands.get(outputs.len()).map_or("", |command| &command.typed);
        return vec![format!("{}: the commands did not end within {TIME_LIMIT:?}, at: {last}", page.name)];
    }
    if is_update() {
        let text = page.with(&blocks_with(&commands, &outputs));
        fs::write(root().join(&page.name), text).expect("the page can be written");
        return Vec::new();
    }
    let pairs = commands.iter().zip(&outputs).filter(|(command, output)| !command.agrees(output));
    let complaint = |(command, output): (&&Shown, &String)| {
        let Shown { line, typed, output: shown, .. } = command;
        format!("{}:{line}: $ {typed}\n--- the page shows\n{shown}--- printed is\n{output}", page.name)
    };
    pairs.map(complaint).collect()
}

/// The console blocks with the outputs of now.
fn blocks_with(commands: &[&Shown], outputs: &[String]) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    for (command, output) in commands.iter().zip(outputs) {
        if blocks.last().is_none_or(|(block, _)| *block != command.block) {
            blocks.push((command.block, String::new()));
        }
        let (_, text) = blocks.last_mut().expect("one was pushed");
        if !command.is_bare {
            let _ = writeln!(text, "$ {}", command.typed);
        }
        *text += &if command.agrees(output) { command.output.clone() } else { updated(&command.output, output) };
    }
    blocks
}

fn commands<'a>(steps: &'a [Step<'_>]) -> impl Iterator<Item = &'a Shown> {
    steps.iter().filter_map(|step| match step {
        Step::Command(shown) => Some(shown),
        Step::File { .. } => None,
    })
}

fn steps(page: &Page) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for (index, block) in page.blocks.iter().enumerate() {
        if let Some(path) = block.attribute("title") {
            let is_appended = block.info.split_whitespace().any(|word| word == "append");
            steps.push(Step::File { path, text: &block.text, is_appended });
        }
        if let Some(path) = block.attribute("output") {
            let (line, output) = (block.lines.start, block.text.clone());
            steps.push(Step::Command(Shown {
                block: index,
                line,
                typed: format!("cat {path}"),
                output,
                is_bare: true,
                is_unordered: false,
            }));
        }
        if is_console(block) {
            steps.extend(typed(index, block).into_iter().map(Step::Command));
        }
    }
    steps
}

/// The commands of a console block.
fn typed(index: usize, block: &Block) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    for (offset, line) in block.text.lines().enumerate() {
        let line_number = block.lines.start + offset + 1;
        if let Some(typed) = line.strip_prefix("$ ") {
            commands.push(Shown {
                block: index,
                line: line_number,
                typed: typed.into(),
                output: String::new(),
                is_bare: false,
                is_unordered: block.info.split_whitespace().any(|word| word == "unordered"),
            });
            continue;
        }
        let command = commands.last_mut().unwrap_or_else(|| panic!("a console block begins with `$ `: {line}"));
        if command.output.is_empty() && command.typed.ends_with('\\') {
            command.typed = format!("{}\n{line}", command.typed);
        } else {
            let _ = writeln!(command.output, "{line}");
        }
    }
    commands
}

/// Executes the steps in one shell, and gives what each command printed on stdout and stderr.
fn execute(page: &Page, steps: &[Step<'_>]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let home = folder.path().join("home/ada");
    fs::create_dir_all(&home).expect("a folder can be made");
    if !page.name.starts_with("docs/") {
        #[cfg(unix)]
        std::os::unix::fs::symlink(root().join("examples"), home.join("examples")).expect("a link can be made");
    }
    let script = script(folder.path(), steps);
    let printed = folder.path().join("printed");
    let output = File::create(&printed).expect("a file can be made");
    let path = std::env::var("PATH").unwrap_or_default();
    let program = Path::new(env!("CARGO_BIN_EXE_branchpoint"));
    let path = format!("{}:{path}", program.parent().expect("the program is in a folder").display());
    let mut shell = Command::new("bash")
        .arg(&script)
        .current_dir(&home)
        .env_clear()
        .envs([("PATH", &*path), ("HOME", &home.to_string_lossy()), ("SHELL", "/bin/sh"), ("TZ", "UTC")])
        .envs([("LANG", "C.UTF-8"), ("BRANCHPOINT_USER", "ada"), ("TERM", "dumb")])
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("the file can be shared"))
        .stderr(output)
        .spawn()
        .expect("bash starts");
    let began = Instant::now();
    while shell.try_wait().expect("the shell can be waited for").is_none() {
        if began.elapsed() > TIME_LIMIT {
            let _ = shell.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let printed = String::from_utf8_lossy(&fs::read(&printed).expect("the output can be read")).into_owned();
    let printed = printed.replace(&*folder.path().to_string_lossy(), "");
    let mut outputs: Vec<String> = printed.split(SEPARATOR).map(String::from).collect();
    outputs.pop();
    outputs
}

/// The script of a session. Files and commands are beside it, so that no quoting is needed.
fn script(folder: &Path, steps: &[Step<'_>]) -> PathBuf {
    let mut script = "status=0\n".to_owned();
    for (index, step) in steps.iter().enumerate() {
        let part = folder.join(index.to_string());
        let from = part.display();
        match step {
            Step::File { path, text, is_appended } => {
                fs::write(&part, text).expect("a file can be written");
                let into = if *is_appended { ">>" } else { ">" };
                let _ = writeln!(script, "mkdir -p \"$(dirname '{path}')\"; cat '{from}' {into} '{path}'");
            }
            Step::Command(shown) => {
                fs::write(&part, &shown.typed).expect("a file can be written");
                // Each command sees the exit status of the one before it in `$?`.
                let _ = writeln!(script, "command=$(cat '{from}'); (exit $status); eval \"$command\"");
                let _ = writeln!(script, "status=$?; printf '\\036'");
            }
        }
    }
    script += "kill $(jobs -p) 2>/dev/null; true\n";
    let path = folder.join("script.sh");
    fs::write(&path, script).expect("a file can be written");
    path
}

#[track_caller]
fn check_text(text: &str, complaints: usize) {
    let value = check(&Page::parse("docs/a.md".into(), text.into()));
    assert_eq!(value.len(), complaints, "{value:?}");
}

#[test]
fn a_page_that_shows_another_output_is_found() {
    if is_update() {
        return;
    }
    check_text(
        "```yaml title=a/b.txt\none\n```\n\n```yaml title=a/b.txt append\ntwo\n```\n\n```console\n$ cd a\n$ cat \\\n  b.txt\none\ntwo\n$ false\n$ echo $?\n1\n```\n",
        0,
    );
    check_text("```console\n$ echo one > a.txt\n```\n\n```text output=a.txt\none\n```\n", 0);
    check_text("```console\n$ echo one > a.txt\n```\n\n```text output=a.txt\ntwo\n```\n", 1);
    check_text("```console\n$ echo one\ntwo\n```\n", 1);
    check_text("```console\n$ echo \"one\n```\n", 1);
    check_text("```console\n$ echo $HOME; branchpoint --version >/dev/null\n/home/ada\n```\n", 0);
}
