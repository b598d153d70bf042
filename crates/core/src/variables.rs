//! Names of environment variables: the names that inputs may set, and the names that decide which programs a command runs.

/// Names that neither inputs nor documents can set, because they decide which program runs.
const PROTECTED: [&str; 5] = ["PATH", "SHELL", "HOME", "IFS", "BASH_ENV"];
const PROTECTED_PREFIXES: [&str; 3] = ["LD_", "DYLD_", "BASH_FUNC_"];

/// Names that inputs cannot set, in addition to the protected ones. The comparison is case-sensitive, as in the programs that read
/// them.
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
    "DOTNET_STARTUP_HOOKS", "PSModulePath", "OCAMLRUNPARAM", "VIRTUAL_ENV",
    "GUILE_LOAD_PATH", "ERL_FLAGS", "ERL_AFLAGS", "ERL_LIBS", "DENO_DIR", "ELECTRON_RUN_AS_NODE",
    // Programs that other programs start.
    "EDITOR", "VISUAL", "PAGER", "MANPAGER", "SYSTEMD_PAGER", "BROWSER", "LESS", "LESSOPEN", "LESSCLOSE", "LESSKEY", "SUDO_ASKPASS",
    "RSYNC_RSH", "CVS_RSH", "SVN_SSH", "TAR_OPTIONS", "MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS",
    "MAKEFILES", "VIMINIT", "EXINIT", "RIPGREP_CONFIG_PATH", "FZF_DEFAULT_COMMAND", "PSQLRC", "PGSERVICEFILE", "XZ_OPT", "GZIP", "CC", "CXX", "CPP", "LD", "CFLAGS", "CXXFLAGS",
    "CPPFLAGS", "LDFLAGS", "GOFLAGS", "GOROOT", "GOPATH", "KUBECONFIG", "GNUPGHOME", "GTK_MODULES", "QT_PLUGIN_PATH",
    // Certificates and connections.
    "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "CURL_HOME", "WGETRC", "NETRC",
];

/// Prefixes of names that inputs cannot set.
#[rustfmt::skip]
const RESERVED_PREFIXES: &[&str] = &[
    "BASH_", "ZSH_", "LC_", "MALLOC_", "NSS_", "XDG_", "PYTHON", "PERL", "RUBY", "BUNDLE_", "NODE_", "NPM_CONFIG_", "npm_config_",
    "LUA_", "COR_", "CORECLR_", "GIT_", "CARGO_", "RUSTC", "RUSTFLAGS", "DOCKER_", "BRANCHPOINT_",
    "AWS_", "PIP_", "UV_", "SSH_", "ANSIBLE_", "TF_", "R_LIBS", "R_PROFILE", "R_ENVIRON", "JULIA_",
];

/// Suffixes of names that inputs cannot set. The comparison ignores case.
const RESERVED_SUFFIXES: [&str; 1] = ["_PROXY"];

/// Whether a name consists of letters, digits and `_` and does not begin with a digit.
///
/// ```
/// use branchpoint_core::variables::is_identifier;
///
/// assert!(is_identifier("API_KEY") && !is_identifier("1st"));
/// ```
pub fn is_identifier(name: &str) -> bool {
    let is_first = |first: u8| first.is_ascii_alphabetic() || first == b'_';
    name.bytes().next().is_some_and(is_first) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Why the author of a document cannot set a variable of this name; `None` if the name is allowed.
///
/// ```
/// use branchpoint_core::variables::name_problem;
///
/// assert_eq!(name_problem("API_KEY"), None);
/// assert!(name_problem("PATH").is_some());
/// ```
pub fn name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("a name must not be empty")
    } else if name.contains(['=', '\0']) {
        Some("a name must not contain `=` or a NUL character")
    } else {
        is_protected(name).then_some("it decides which programs run")
    }
}

fn is_protected(name: &str) -> bool {
    PROTECTED.contains(&name) || PROTECTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether inputs cannot set a variable of this name, because a loader, an interpreter, a shell or a common tool reads it.
///
/// ```
/// use branchpoint_core::variables::is_reserved;
///
/// assert!(is_reserved("LD_PRELOAD") && !is_reserved("API_KEY"));
/// ```
pub fn is_reserved(name: &str) -> bool {
    is_protected(name)
        || RESERVED.contains(&name)
        || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || RESERVED_SUFFIXES.iter().any(|suffix| name.to_ascii_uppercase().ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_decide_which_programs_run_are_reserved() {
        let names = "PATH SHELL HOME IFS ENV BASH_ENV BASH_FUNC_ls BASHOPTS SHELLOPTS PS4 PROMPT_COMMAND CDPATH GLOBIGNORE ZDOTDIR \
                     TMPDIR LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES GLIBC_TUNABLES GCONV_PATH PYTHONHOME PYTHONSTARTUP PERL5OPT \
                     PERL5LIB RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH LUA_INIT PHPRC \
                     GIT_SSH_COMMAND GIT_EXTERNAL_DIFF EDITOR VISUAL PAGER LESSOPEN BROWSER http_proxy HTTPS_PROXY All_Proxy \
                     no_proxy SSL_CERT_FILE MAKEFLAGS npm_config_script_shell CARGO_BUILD_RUSTC RUSTC_WRAPPER KUBECONFIG \
                     BRANCHPOINT_KEY XDG_CONFIG_HOME VIMINIT PIP_INDEX_URL UV_INDEX AWS_PROFILE SSH_AUTH_SOCK SSH_ASKPASS \
                     GNUPGHOME ANSIBLE_CONFIG TF_CLI_ARGS R_LIBS_USER R_PROFILE_USER JULIA_DEPOT_PATH CFLAGS LDFLAGS";
        for name in names.split_whitespace() {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["title", "TITLE", "path", "home", "env", "API_KEY", "python", "proxy", "GITHUB", "LDAP", "AWSOME"]
        {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn authors_set_any_name_that_is_valid_and_not_protected() {
        for name in ["", "A=B", "a\0b", "PATH", "IFS", "LD_PRELOAD", "DYLD_X", "BASH_ENV"] {
            assert!(name_problem(name).is_some(), "{name}");
        }
        for name in ["PYTHONHOME", "a-b", "1a", "path"] {
            assert_eq!(name_problem(name), None, "{name}");
        }
    }

    #[test]
    fn identifiers_are_ascii_and_begin_with_no_digit() {
        for (name, is) in [("a1", true), ("_x", true), ("", false), ("1a", false), ("a-b", false), ("\u{e4}", false)] {
            assert_eq!(is_identifier(name), is, "{name}");
        }
    }
}
