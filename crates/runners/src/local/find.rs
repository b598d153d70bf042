//! Finds a file that may be in one of several places, such as the file of a skill.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use branchpoint_core::effect::{FilesRequest, FoundFile};
use branchpoint_expr::Value;

use super::text_of;
use crate::shorten::shortened;

/// The depth of folders in which files are listed, and the most files of a list.
const LIST_DEPTH: usize = 4;
const LISTED_FILES: usize = 1_000;

/// Folders whose files are not listed.
const SKIPPED: [&str; 2] = [".git", "node_modules"];

/// Reads the first of the files that exists, for a run in a folder.
pub(super) fn find(dir: &Path, request: &FilesRequest) -> Result<FoundFile, String> {
    let base = dir.join(request.base.as_deref().unwrap_or_default());
    let paths: Vec<PathBuf> = request.paths.iter().map(|path| resolved(&base, path)).collect();
    let Some(path) = paths.iter().find(|path| path.exists()) else {
        let paths: Vec<String> = paths.iter().map(|path| shortened(&path.display().to_string())).collect();
        return Err(format!("no such file: {}", paths.join(", ")));
    };
    let text = text_of(path)?;
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let folder = path.parent().unwrap_or(&base);
    let files = if request.list { files_below(folder, &path) } else { Vec::new() };
    Ok(FoundFile { path: path.display().to_string(), folder: folder.display().to_string(), text, files })
}

/// Resolves a path below a folder; `~/` is the home folder.
fn resolved(base: &Path, path: &str) -> PathBuf {
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    match path.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest))) {
        Some(path) => path,
        None => base.join(path),
    }
}

/// The files below a folder except one, as relative paths in order. What cannot be read is left out, and links are not followed.
fn files_below(folder: &Path, except: &Path) -> Vec<Value> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((within, depth)) = folders.pop() {
        for entry in fs::read_dir(&within).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_skipped = SKIPPED.iter().any(|name| path.file_name() == Some(OsStr::new(name)));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < LIST_DEPTH && !is_skipped => folders.push((path, depth + 1)),
                Ok(kind) if kind.is_file() && path != except => {
                    files.extend(path.strip_prefix(folder).ok().map(|path| path.display().to_string()));
                }
                _ => {}
            }
        }
        if files.len() > LISTED_FILES {
            break;
        }
    }
    files.sort();
    files.truncate(LISTED_FILES);
    files.into_iter().map(Value::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(paths: &[&str], list: bool) -> FilesRequest {
        let paths = paths.iter().map(ToString::to_string).collect();
        FilesRequest { paths, list, base: Some("docs".to_owned()), ..FilesRequest::default() }
    }

    #[test]
    fn the_first_file_that_exists_is_read_and_the_files_beside_it_are_listed() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let skill = dir.path().join("docs/skills/go");
        for folder in ["scripts", ".git", "a/b/c/d/e"] {
            fs::create_dir_all(skill.join(folder)).expect("a folder can be made");
        }
        for file in ["SKILL.md", "notes.md", "scripts/run.sh", ".git/config", "a/b/c/d/in", "a/b/c/d/e/out"] {
            fs::write(skill.join(file), "text").expect("a file can be written");
        }
        let skill_file = find(dir.path(), &request(&["none/SKILL.md", "skills/go/SKILL.md"], true)).expect("it exists");
        assert_eq!(skill_file.text, "text");
        assert_eq!(Path::new(&skill_file.folder), fs::canonicalize(&skill).expect("it exists"));
        assert_eq!(skill_file.files, ["a/b/c/d/in", "notes.md", "scripts/run.sh"].map(Value::from));
        let alone = find(dir.path(), &request(&["skills/go/SKILL.md"], false)).expect("it exists");
        assert_eq!(alone.files, []);
    }

    #[test]
    fn a_missing_file_is_reported_with_every_place_that_was_tried() {
        let missing = find(Path::new("/base"), &request(&["a.md", "/b.md"], false)).expect_err("there is none");
        assert_eq!(missing, "no such file: /base/docs/a.md, /b.md");
    }

    #[test]
    fn a_tilde_is_the_home_folder() {
        let home = std::env::home_dir().expect("there is one");
        assert_eq!(resolved(Path::new("/base"), "~/x.sh"), home.join("x.sh"));
        assert_eq!(resolved(Path::new("/base"), "~x/y.sh"), Path::new("/base/~x/y.sh"));
        assert_eq!(resolved(Path::new("/base"), "/y.sh"), Path::new("/y.sh"));
    }
}
