//! Finds the files of a knowledge base: files that are named, and files in folders that are named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::documents::DocumentFormat;

/// The most files of one call.
pub const MAX_FILES: usize = 100_000;

/// The most folders within folders.
const MAX_DEPTH: usize = 64;

/// Files to add, in order, and files that were left out.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The files with their formats.
    pub files: Vec<(PathBuf, DocumentFormat)>,
    /// The number of files in folders whose format is not supported.
    pub unsupported: usize,
    /// Files and folders that cannot be used, and why.
    pub failed: Vec<(PathBuf, String)>,
}

/// Finds the files at paths. Hidden files in folders are skipped, and files that `.gitignore` or `.ignore` exclude. Symbolic links are
/// not followed.
///
/// ```
/// let found_files = branchpoint_runners::knowledge::find_files(&["no-such-file.md".into()])?;
/// assert_eq!((found_files.files.len(), found_files.failed.len()), (0, 1));
/// # Ok::<(), String>(())
/// ```
pub fn find_files(paths: &[PathBuf]) -> Result<FoundFiles, String> {
    let mut found_files = FoundFiles::default();
    let mut seen = BTreeSet::new();
    for path in paths {
        if path.is_dir() {
            walk(path, &mut found_files, &mut seen)?;
        } else if !path.exists() {
            found_files.failed.push((path.clone(), "no such file or folder".to_owned()));
        } else {
            match format(path) {
                Some(format) if seen.insert(path.clone()) => found_files.files.push((path.clone(), format)),
                Some(_) => {}
                None => found_files.failed.push((path.clone(), unsupported())),
            }
        }
    }
    found_files.files.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found_files)
}

fn walk(folder: &Path, found_files: &mut FoundFiles, seen: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    // `.gitignore` also applies in a folder that is not a repository.
    let walk = WalkBuilder::new(folder).require_git(false).max_depth(Some(MAX_DEPTH)).build();
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                found_files.failed.push((folder.to_path_buf(), error.to_string()));
                continue;
            }
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        match format(entry.path()) {
            Some(format) if seen.insert(entry.path().to_path_buf()) => {
                found_files.files.push((entry.into_path(), format));
            }
            Some(_) => {}
            None => found_files.unsupported += 1,
        }
        if found_files.files.len() > MAX_FILES {
            return Err(format!("the folders have more than {MAX_FILES} files; add fewer at a time"));
        }
    }
    Ok(())
}

fn format(path: &Path) -> Option<DocumentFormat> {
    DocumentFormat::of("", path.file_name()?.to_str()?)
}

fn unsupported() -> String {
    "the format is not supported; use a text, Markdown, HTML, PDF or DOCX file with the usual extension".to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_are_searched_without_ignored_hidden_linked_or_unsupported_files() {
        let folder = tempfile::tempdir().expect("there is room");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders can be made");
            fs::write(path, text).expect("files can be written");
        };
        for name in ["b.md", "a/c.txt", "a/d.HTML", "out/e.md", ".hidden.md", "logo.png", "a/f.pdf", "noending"] {
            write(name, "x");
        }
        write(".gitignore", "out/\n");
        std::os::unix::fs::symlink(folder.path().join("b.md"), folder.path().join("link.md"))
            .expect("links can be made");
        let names = |paths: &[PathBuf]| {
            let found_files = find_files(paths).expect("there are few files");
            let name = |path: &Path| path.strip_prefix(folder.path()).expect("below it").display().to_string();
            let names: Vec<String> = found_files.files.iter().map(|(path, _)| name(path)).collect();
            let failed: Vec<String> = found_files.failed.iter().map(|(path, _)| name(path)).collect();
            (names, found_files.unsupported, failed)
        };
        let path = |name: &str| folder.path().join(name);
        let all = ["a/c.txt", "a/d.HTML", "a/f.pdf", "b.md"].map(str::to_owned).to_vec();
        assert_eq!(names(&[path("")]), (all.clone(), 2, vec![]));
        assert_eq!(names(&[path("b.md"), path("")]), (all, 2, vec![]), "a file that is found twice is added once");
        assert_eq!(
            names(&[path("out/e.md"), path(".hidden.md")]).0,
            [".hidden.md", "out/e.md"],
            "named files are added"
        );
        let failed = vec!["logo.png".to_owned(), "gone".to_owned()];
        assert_eq!(names(&[path("logo.png"), path("gone")]), (vec![], 0, failed));
    }
}
