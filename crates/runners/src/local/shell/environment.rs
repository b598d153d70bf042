//! Decides which inputs of a run become environment variables of its commands.
//!
//! The names of inputs are data: whoever starts a run chooses them. A name that a loader, an interpreter, a shell or a common
//! tool reads would let an input decide what runs, and a large value keeps every command from starting (`E2BIG`). Such inputs
//! are left out and handed over in a file instead.

use branchpoint_expr::{Object, Value};

/// The largest value of one variable, in bytes. Linux accepts 128 KiB for `NAME=value`.
const VALUE_BYTES: usize = 64 * 1024;

/// The largest size of all variables made of inputs, names included. Linux shares it with the arguments and the inherited
/// environment.
const TOTAL_BYTES: usize = 256 * 1024;

/// Names that documents cannot set either: they decide which program runs.
const PROTECTED: [&str; 5] = ["PATH", "SHELL", "HOME", "IFS", "BASH_ENV"];
const PROTECTED_PREFIXES: [&str; 2] = ["LD_", "DYLD_"];

/// Names that no input sets, beside the protected ones. Case matters, as it does to those who read them.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    // Shells.
    "ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "EXECIGNORE",
    "FIGNORE", "FPATH", "FCEDIT", "HISTFILE", "HISTCMD", "INPUTRC", "MAILPATH", "OPTIND", "POSIXLY_CORRECT", "PWD", "OLDPWD",
    "SHLVL", "ZDOTDIR", "KSH_ENV", "TMOUT",
    // The C library, the terminal, the user.
    "TMPDIR", "TMP", "TEMP", "TZ", "TZDIR", "TERM", "TERMINFO", "TERMINFO_DIRS", "TERMCAP", "LANG", "LANGUAGE", "LOCPATH", "NLSPATH",
    "GCONV_PATH", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "RESOLV_HOST_CONF", "USER", "LOGNAME", "USERNAME",
    // Interpreters and virtual machines.
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "JAVA_HOME", "CLASSPATH", "MAVEN_OPTS", "MAVEN_ARGS",
    "GRADLE_OPTS", "ANT_OPTS", "PHPRC", "PHP_INI_SCAN_DIR", "GEM_HOME", "GEM_PATH", "TCLLIBPATH", "AWKPATH", "AWKLIBPATH",
    "DOTNET_STARTUP_HOOKS", "PSModulePath", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "VIRTUAL_ENV",
    "GUILE_LOAD_PATH", "ERL_FLAGS", "ERL_AFLAGS", "ERL_LIBS", "DENO_DIR", "ELECTRON_RUN_AS_NODE",
    // Programs that other programs start.
    "EDITOR", "VISUAL", "PAGER", "MANPAGER", "SYSTEMD_PAGER", "BROWSER", "LESS", "LESSOPEN", "LESSCLOSE", "LESSKEY", "SSH_ASKPASS",
    "SUDO_ASKPASS", "SSH_AUTH_SOCK", "RSYNC_RSH", "CVS_RSH", "SVN_SSH", "TAR_OPTIONS", "MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS",
    "MAKEFILES", "CC", "CXX", "CPP", "LD", "GOFLAGS", "GOROOT", "GOPATH", "KUBECONFIG", "AWS_CONFIG_FILE",
    // Certificates and connections.
    "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "CURL_HOME", "WGETRC", "NETRC",
];

/// Beginnings of names that no input sets.
#[rustfmt::skip]
const RESERVED_PREFIXES: &[&str] = &[
    "BASH_", "ZSH_", "LC_", "MALLOC_", "NSS_", "XDG_", "PYTHON", "PERL", "RUBY", "BUNDLE_", "NODE_", "NPM_CONFIG_", "npm_config_",
    "LUA_", "COR_", "CORECLR_", "GIT_", "CARGO_", "RUSTC", "RUSTFLAGS", "DOCKER_", "BRANCHPOINT_",
];

/// Ends of names that no input sets, in any case.
const RESERVED_SUFFIXES: [&str; 1] = ["_PROXY"];

/// Inputs of a run, divided into environment variables and inputs that do not become one.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Divided {
    /// The variables, as name and value.
    pub(crate) variables: Vec<(String, String)>,
    /// The inputs left out, with the reason.
    pub(crate) left_out: Vec<(String, Reason)>,
}

/// Why an input does not become an environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The name is not a name of a variable.
    Name,
    /// A loader, an interpreter, a shell or a common tool reads the name.
    Reserved,
    /// The value has this many bytes.
    Large(usize),
    /// All variables together would be too large.
    Total,
    /// The value holds a NUL character.
    Nul,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name => write!(out, "its name is not letters, digits and `_`"),
            Self::Reserved => write!(out, "its name is reserved for shells and programs"),
            Self::Large(bytes) => write!(out, "it has {bytes} bytes, and at most {VALUE_BYTES} are passed"),
            Self::Total => write!(out, "the inputs together exceed {TOTAL_BYTES} bytes"),
            Self::Nul => write!(out, "it holds a NUL character"),
        }
    }
}

/// Divides the text inputs of a run, in their order.
pub(crate) fn divide(inputs: &Object) -> Divided {
    let mut divided = Divided::default();
    let mut total = 0;
    for (name, value) in inputs {
        let value = value.to_string();
        // The system stores `NAME=value`, with a NUL at the end.
        let bytes = name.len() + value.len() + 2;
        let reason = reason(name, &value).or_else(|| (total + bytes > TOTAL_BYTES).then_some(Reason::Total));
        if let Some(reason) = reason {
            divided.left_out.push((name.to_string(), reason));
        } else {
            total += bytes;
            divided.variables.push((name.to_string(), value));
        }
    }
    divided
}

fn reason(name: &str, value: &str) -> Option<Reason> {
    if !is_identifier(name) {
        Some(Reason::Name)
    } else if is_protected(name) || is_reserved(name) {
        Some(Reason::Reserved)
    } else if value.len() > VALUE_BYTES {
        Some(Reason::Large(value.len()))
    } else if value.contains('\0') {
        Some(Reason::Nul)
    } else {
        None
    }
}

/// Whether a document may set a variable of this name for its own command.
pub(super) fn may_be_set(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !is_protected(name)
}

fn is_identifier(name: &str) -> bool {
    let is_first = |first: u8| first.is_ascii_alphabetic() || first == b'_';
    name.bytes().next().is_some_and(is_first) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_protected(name: &str) -> bool {
    PROTECTED.contains(&name) || PROTECTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
        || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || RESERVED_SUFFIXES.iter().any(|suffix| name.to_ascii_uppercase().ends_with(suffix))
}

/// The inputs of these names as the text of a JSON object.
pub(crate) fn as_json(inputs: &Object, left_out: &[(String, Reason)]) -> String {
    let is_left_out = |name: &str| left_out.iter().any(|(known, _)| known == name);
    let fields = inputs.iter().filter(|(name, _)| is_left_out(name));
    Value::from(fields.map(|(name, value)| (name.clone(), value.clone())).collect::<Object>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(pairs: &[(&str, &str)]) -> Object {
        pairs.iter().map(|(name, value)| ((*name).into(), Value::from(*value))).collect()
    }

    #[track_caller]
    fn check(name: &str, value: &str, expect: Option<Reason>) {
        let divided = divide(&inputs(&[(name, value)]));
        assert_eq!(divided.left_out.first().map(|(_, reason)| *reason), expect, "{name}");
        assert_eq!(divided.variables.len(), usize::from(expect.is_none()), "{name}");
    }

    #[test]
    fn an_ordinary_name_becomes_a_variable() {
        for name in [
            "title", "TITLE", "_x", "a1", "path", "home", "env", "user", "API_KEY", "python", "proxy", "GITHUB", "LDAP",
        ] {
            check(name, "x", None);
        }
    }

    #[test]
    fn a_name_that_is_not_an_identifier_is_left_out() {
        for name in ["", "1a", "a-b", "a.b", "a b", "a=b", "a\0b", "ä", "BASH_FUNC_ls%%", "BASH_FUNC_ls()", "x\n"] {
            check(name, "() { echo owned; }", Some(Reason::Name));
        }
    }

    #[test]
    fn a_name_that_decides_what_runs_is_left_out() {
        let names = "PATH SHELL HOME IFS ENV BASH_ENV BASH_FUNC_ls BASHOPTS SHELLOPTS PS4 PROMPT_COMMAND CDPATH GLOBIGNORE ZDOTDIR \
                     TMPDIR LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES GLIBC_TUNABLES GCONV_PATH PYTHONHOME PYTHONSTARTUP PERL5OPT \
                     PERL5LIB RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH LUA_INIT PHPRC \
                     GIT_SSH_COMMAND GIT_EXTERNAL_DIFF EDITOR VISUAL PAGER LESSOPEN BROWSER http_proxy HTTPS_PROXY All_Proxy \
                     no_proxy SSL_CERT_FILE MAKEFLAGS npm_config_script_shell CARGO_BUILD_RUSTC RUSTC_WRAPPER KUBECONFIG \
                     BRANCHPOINT_KEY XDG_CONFIG_HOME";
        for name in names.split_whitespace() {
            check(name, "x", Some(Reason::Reserved));
        }
    }

    #[test]
    fn a_value_is_bounded_alone_and_together_with_the_others() {
        check("most", &"x".repeat(VALUE_BYTES), None);
        check("more", &"x".repeat(VALUE_BYTES + 1), Some(Reason::Large(VALUE_BYTES + 1)));
        check("nul", "a\0b", Some(Reason::Nul));
        let large = "x".repeat(VALUE_BYTES);
        let divided = divide(&inputs(&[("a", &large), ("b", &large), ("c", &large), ("d", &large), ("e", "small")]));
        assert_eq!(divided.left_out, [("d".to_owned(), Reason::Total)]);
        assert_eq!(divided.variables.len(), 4, "a small input after a large one still fits");
    }

    #[test]
    fn inputs_left_out_are_written_as_json() {
        let all = inputs(&[("title", "x"), ("PYTHONHOME", "/tmp"), ("a-b", "\"")]);
        let divided = divide(&all);
        assert_eq!(as_json(&all, &divided.left_out), r#"{"PYTHONHOME":"/tmp","a-b":"\""}"#);
    }
}
