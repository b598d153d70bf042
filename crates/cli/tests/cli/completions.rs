//! `branchpoint completions`.

use super::run;

#[test]
fn the_completions_of_every_shell_contain_the_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell], "", &[]);
        let script = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(script.contains("condition"), "{shell}: {script}");
    }
}
