//! What the operating system calls its user, who acts when no user is configured, and the machine.

use nix::unistd::{Uid, User, gethostname};

/// The login name of the user that runs this process, or `uid-1000` when the system has no name for the user id.
///
/// The name comes from the system's user database. Environment variables such as `USER` are ignored: anybody can set them, and
/// containers and services often do not.
pub(crate) fn user_name() -> String {
    let uid = Uid::effective();
    let entry = User::from_uid(uid).ok().flatten();
    user_name_or_uid(entry.map(|user| user.name), uid)
}

/// The name of this machine as the operating system knows it. The variable `HOSTNAME` is ignored: most shells do not export it.
pub(crate) fn host_name() -> String {
    gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn user_name_or_uid(name: Option<String>, uid: Uid) -> String {
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("uid-{uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_the_name_that_the_operating_system_gives_it() {
        let output = std::process::Command::new("uname").arg("-n").output().expect("every system has `uname`");
        assert_eq!(host_name(), String::from_utf8_lossy(&output.stdout).trim());
    }

    #[test]
    fn a_user_without_an_entry_is_named_by_the_user_id() {
        assert_eq!(user_name_or_uid(None, Uid::from_raw(1000)), "uid-1000");
        assert_eq!(user_name_or_uid(Some(String::new()), Uid::from_raw(7)), "uid-7");
        assert_eq!(user_name_or_uid(Some("ada".into()), Uid::from_raw(7)), "ada");
    }
}
