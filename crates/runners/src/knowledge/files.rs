//! The files of a knowledge base: those that are named, and those in folders that are named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::documents::DocumentFormat;

/// The most files of one call.
pub const MAX_FILES: usize = 100_000;

/// The most folders within folders.
const MAX_DEPTH: usize = 64;

/// Files to add, in order, and what was left out.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The files with their formats.
    pub files: Vec<(PathBuf, DocumentFormat)>,
    /// The number of files in folders whose format is not supported.
    pub unsupported: usize,
    /// Files and folders that cannot be used, and why.
    pub failed: Vec<(PathBuf, String)>,
}

/// Finds the files at paths. Named files are used as they are; folders without hidden files and without what `.gitignore` and
/// `.ignore` exclude. Links are not followed.
///
/// ```
/// let found = branchpoint_runners::knowledge::find_files(&["no-such-file.md".into()])?;
/// assert_eq!((found.files.len(), found.failed.len()), (0, 1));
/// # Ok::<(), String>(())
/// ```
pub fn find_files(paths: &[PathBuf]) -> Result<FoundFiles, String> {
    let mut found = FoundFiles::default();
    let mut seen = BTreeSet::new();
    for path in paths {
        if path.is_dir() {
            walk(path, &mut found, &mut seen)?;
        } else if !path.exists() {
            found.failed.push((path.clone(), "there is no such file or folder".to_owned()));
        } else {
            match format(path) {
                Some(format) if seen.insert(path.clone()) => found.files.push((path.clone(), format)),
                Some(_) => {}
                None => found.failed.push((path.clone(), unsupported())),
            }
        }
    }
    found.files.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

fn walk(folder: &Path, found: &mut FoundFiles, seen: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    // Files of a folder that is not a repository are excluded all the same.
    let walk = WalkBuilder::new(folder).require_git(false).max_depth(Some(MAX_DEPTH)).build();
    for entry in walk {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                found.failed.push((folder.to_path_buf(), error.to_string()));
                continue;
            }
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        match format(entry.path()) {
            Some(format) if seen.insert(entry.path().to_path_buf()) => found.files.push((entry.into_path(), format)),
            Some(_) => {}
            None => found.unsupported += 1,
        }
        if found.files.len() > MAX_FILES {
            return Err(format!("there are more than {MAX_FILES} files; add fewer at a time"));
        }
    }
    Ok(())
}

fn format(path: &Path) -> Option<DocumentFormat> {
    DocumentFormat::of("", path.file_name()?.to_str()?)
}

fn unsupported() -> String {
    "the format is not supported; text, Markdown, HTML, PDF and DOCX files are, by the ending of their names".to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_are_searched_without_what_is_ignored_hidden_linked_or_unsupported() {
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
            let found = find_files(paths).expect("there are few files");
            let name = |path: &Path| path.strip_prefix(folder.path()).expect("below it").display().to_string();
            let names: Vec<String> = found.files.iter().map(|(path, _)| name(path)).collect();
            let failed: Vec<String> = found.failed.iter().map(|(path, _)| name(path)).collect();
            (names, found.unsupported, failed)
        };
        let path = |name: &str| folder.path().join(name);
        let all = ["a/c.txt", "a/d.HTML", "a/f.pdf", "b.md"].map(str::to_owned).to_vec();
        assert_eq!(names(&[path("")]), (all.clone(), 2, vec![]));
        assert_eq!(names(&[path("b.md"), path("")]), (all, 2, vec![]), "a file that is found twice is added once");
        assert_eq!(
            names(&[path("out/e.md"), path(".hidden.md")]).0,
            [".hidden.md", "out/e.md"],
            "named files are taken"
        );
        let failed = vec!["logo.png".to_owned(), "gone".to_owned()];
        assert_eq!(names(&[path("logo.png"), path("gone")]), (vec![], 0, failed));
    }
}
