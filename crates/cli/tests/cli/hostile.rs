//! Documents, answers and names that try to control the terminal of their reader.

use super::running::{Place, err, exits, out};

/// Everything that a terminal would act upon: an override of the reading direction, an isolate, a one-byte CSI, a carriage
/// return, a cursor movement, a window title, hidden text.
const ATTACK: &str = r"pay 10\u202e001\u2066 \u009b2K\rdone \u001b[1A\u001b]0;owned\u0007\u001b[8mhidden\u001b[0m";

/// A step that asks people, choices that only look harmless, and a step that fails with the same text.
fn workflow() -> String {
    let attack = format!("\"{ATTACK}\"");
    format!(
        r#"
name: hostile
steps:
  - {{id: ask, step_type: human_in_the_loop, prompt_template: {attack}, choices: ["yes; rm -rf ~ \u202e", "no"]}}
  - {{id: end, step_type: text, template: {attack}}}
"#
    )
}

/// What the terminal gets is text, line breaks, tabs, and the program's own colours.
#[track_caller]
fn is_harmless(what: &str, shown: &str) {
    let mut rest = shown.to_owned();
    for own in ["0", "1", "4", "31", "32", "33", "36", "91", "92", "93", "94", "96"] {
        rest = rest.replace(&format!("\u{1b}[{own}m"), "");
    }
    let harmful = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    assert!(!rest.contains(harmful), "{what} holds {:?}:\n{rest:?}", rest.find(harmful));
}

#[test]
fn text_of_a_document_cannot_control_the_terminal() {
    let place = Place::new(&[("hostile.yaml", &workflow())]);
    let run = |arguments: &[&str]| place.command(arguments).env("CLICOLOR_FORCE", "1").output().expect("it runs");
    let prompt = run(&["run", "hostile.yaml", "--id", "k"]);
    exits(&prompt, 5);
    is_harmless("run", &err(&prompt));
    assert!(err(&prompt).contains("pay 10\\u202e001\\u2066 \\u009b2K\\rdone \\u001b[1A"), "{}", err(&prompt));
    let reads: [&[&str]; 6] = [
        &["approvals", "list"],
        &["approvals", "show", "k"],
        &["runs", "list"],
        &["runs", "show", "k"],
        &["runs", "trace", "k"],
        &["runs", "explain", "k", "ask"],
    ];
    for command in reads {
        let read = run(command);
        exits(&read, 0);
        is_harmless(&command.join(" "), &(out(&read) + &err(&read)));
    }
    let show = out(&run(&["approvals", "show", "k"]));
    assert!(show.contains(r"branchpoint approvals vote k/") && show.contains(r"'yes; rm -rf ~ \u202e'"), "{show}");
    let refused = run(&["approvals", "vote", "k", "\u{202e}\u{9b}maybe"]);
    is_harmless("a refused vote", &err(&refused));
    let voted = run(&["approvals", "vote", "k", "no"]);
    exits(&voted, 0);
    is_harmless("approvals vote", &err(&voted));
    is_harmless("the trace", &out(&run(&["runs", "trace", "k"])));
}

#[test]
fn an_invalid_document_cannot_control_the_terminal() {
    let broken = "name: x\nsteps:\n  - {id: \"a\u{202e}\u{2066}\", step_type: \"\u{9b}2J\u{85}\", \u{200f}x: 1}\n";
    let place = Place::new(&[("broken.yaml", broken), ("worse.yaml", "a: \u{1b}[2J[\r{")]);
    for file in ["broken.yaml", "worse.yaml"] {
        for command in ["check", "run"] {
            let seen = place.command(&[command, file]).env("CLICOLOR_FORCE", "1").output().expect("it runs");
            assert!(!seen.status.success(), "{file} is refused");
            is_harmless(&format!("{command} {file}"), &(out(&seen) + &err(&seen)));
        }
    }
    let missing = place.command(&["run", "no\u{202e}\u{1b}[2Jfile.yaml"]).env("CLICOLOR_FORCE", "1").output();
    is_harmless("an unknown file", &err(&missing.expect("it runs")));
}
