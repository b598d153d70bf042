//! Programs and commands.

use branchpoint_core::effect::ProcessResult;
use branchpoint_core::shell;
use branchpoint_expr::Value;
use branchpoint_runners::{Answer, Call, CancellationToken, Local, runtime};

use super::{call, secrets};

fn local(environment: Option<Vec<String>>) -> Local {
    Local { environment, ..Local::new(std::env::temp_dir()) }
}

#[track_caller]
fn perform(local: &Local, call: &Call) -> Answer {
    let prepared = call.prepare(&secrets()).expect("it can be performed");
    runtime().block_on(local.perform(&prepared, &CancellationToken::new())).expect("this is for the machine")
}

#[track_caller]
fn judged(local: &Local, call: &Call) -> Value {
    branchpoint_runners::judge(call, perform(local, call)).expect("this succeeds")
}

#[test]
fn a_command_runs_in_the_shell_and_a_program_without_it() {
    let tools = local(None);
    for (input, expected) in [
        (r#"{"command": "printf '%s' \"$((1 + 2))\""}"#, "3"),
        (r#"{"argv": ["printf", "%s", "$((1 + 2))"]}"#, "$((1 + 2))"),
        (r#"{"command": "cat", "stdin": "fed"}"#, "fed"),
        (r#"{"command": "printf \"$WHO\"", "env": {"WHO": "me"}}"#, "me"),
        (r#"{"command": "pwd", "dir": "/"}"#, "/\n"),
    ] {
        assert_eq!(judged(&tools, &call("process", "{}", input)), Value::from(expected), "{input}");
    }
    let failing = perform(&tools, &call("process", "{}", r#"{"command": "echo no >&2; exit 3"}"#));
    assert!(matches!(failing, Answer::Process(ProcessResult { exit_code: Some(3), .. })), "{failing:?}");
}

#[test]
fn a_credential_is_an_environment_variable_of_its_call_only() {
    let tools = local(None);
    let spec = r#"{"secrets": [{"at": [{"field": "env"}, {"field": "TOKEN"}], "form": {"credential": {"before": "", "secret": "TEST_CRM"}}}]}"#;
    let input = r#"{"command": "echo ${#TOKEN} $OTHER", "env": {"OTHER": "kept"}}"#;
    assert_eq!(judged(&tools, &call("process", spec, input)), Value::from("8 kept\n"), "the length of `test_crm`");
    assert_eq!(judged(&tools, &call("process", "{}", input)), Value::from("0 kept\n"));
}

#[test]
fn a_secret_is_one_word_of_a_command_and_is_not_executed() {
    let tools = local(None);
    let spec = r#"{"secrets": [{"at": [{"field": "command"}], "form": "shell_word"}, {"at": [{"field": "argv"}, {"item": 1}]}]}"#;
    for input in [
        r#"{"command": ["t=", {"secret": "TEST_EVIL"}, "; echo ${#t} \"$t\""]}"#,
        r#"{"argv": ["printf", ["20 ", {"secret": "TEST_EVIL"}, "\n"]]}"#,
    ] {
        assert_eq!(judged(&tools, &call("process", spec, input)), Value::from("20 ***\n"), "{input}");
    }
}

#[test]
fn on_a_server_commands_inherit_only_allowed_variables() {
    let tools = local(Some(vec!["PATH".into()]));
    let seen = judged(&tools, &call("process", "{}", r#"{"argv": ["env"], "env": {"MINE": "1"}}"#)).to_string();
    let mut names: Vec<_> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["BRANCHPOINT_KEY", "MINE", "PATH"]);
}

#[test]
fn a_program_that_does_not_read_its_input_ends() {
    let input = format!(r#"{{"command": "true", "stdin": "{}"}}"#, "x".repeat(1_000_000));
    assert_eq!(judged(&local(None), &call("process", "{}", &input)), Value::from(""));
}

/// The command with a word at each `@@`; `None` if no word can be inserted.
fn filled(written: &str, value: &str) -> Option<String> {
    let (mut command, mut filled) = (shell::Command::default(), String::new());
    for (index, part) in written.split("@@").enumerate() {
        if index > 0 {
            let (before, after) = command.word_quotes().ok()?;
            filled += &[before, &shell::word(value), after].concat();
            command.insert_word();
        }
        command.read(part);
        filled += part;
    }
    Some(filled)
}

#[test]
fn a_shell_reads_each_word_unchanged() {
    let nasty = "a 'b' \"c\" $(echo bad) `echo bad` \\ ; # ${HOME}\n* end";
    let tools = local(None);
    for written in [
        "printf %s @@",
        "printf %s \"@@\"",
        "printf %s '@@'",
        "x=$(true); printf %s \"${x}@@\"",
        "(printf %s @@)",
        "true; # a comment, isn't it\nprintf %s \"@@\"",
        "printf %s \"\\\"@@\" | tail -c +2",
    ] {
        let command = filled(written, nasty).expect("a word can be inserted");
        let input = serde_json::json!({"command": command}).to_string();
        assert_eq!(judged(&tools, &call("process", "{}", &input)).to_string(), nasty, "{command}");
    }
}

/// Random commands from pieces that confuse shells: an inserted value is never executed.
#[test]
fn no_value_is_executed_in_any_context() {
    const PIECES: [&str; 42] = [
        "@@",
        "@@",
        "@@",
        "\"",
        "\"",
        "'",
        "'",
        "\\",
        "$",
        "$$",
        "$(",
        "${x:-",
        "${x}",
        "$(true)",
        "$((",
        "))",
        "((",
        ")",
        "}",
        "(",
        "`",
        "#",
        " #",
        "\n",
        " ",
        " ",
        ";",
        "|",
        "<",
        "<<",
        ">",
        "[",
        "]",
        "a",
        "echo ",
        "x=",
        "case a in a) ",
        ";; esac",
        "\t",
        "&",
        ">&2 ",
        "<&",
    ];
    // It would be executed in quotes, substitutions and arithmetic, and would print `P2N`.
    let payload = "a[$(echo P$((1+1))N >&2)]$(echo P$((1+1))N >&2)`echo P$((1+1))N >&2`\";echo P$((1+1))N;'";
    let shells = ["/bin/sh", "/bin/bash"].map(std::path::Path::new).into_iter().filter(|shell| shell.exists());
    let shells: Vec<_> = shells.collect();
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (mut seed, mut let_in) = (7_u64, 0);
    while let_in < 400 {
        let mut written = String::new();
        for _ in 0..3 + seed % 9 {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            written += PIECES[usize::try_from(seed >> 33).expect("31 bits") % PIECES.len()];
        }
        let Some(command) = filled(&written, payload).filter(|command| *command != written) else { continue };
        let_in += 1;
        for shell in &shells {
            let mut ran = std::process::Command::new(shell);
            let output = ran_quietly(ran.arg("-c").arg(&command).current_dir(folder.path()));
            assert!(!output.contains("P2N"), "{written:?} became {command:?}, and {shell:?} printed {output}");
        }
    }
}

fn ran_quietly(command: &mut std::process::Command) -> String {
    let output = command.stdin(std::process::Stdio::null()).output().expect("a shell starts");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}
