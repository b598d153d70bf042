//! The documents in `examples/`.

use std::fs;
use std::path::{Path, PathBuf};

/// The example documents of a folder below `examples/`, without their scripts, in order.
pub fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let files = fs::read_dir(&folder).expect("the folder of examples is there").flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| is_document(path)).collect();
    files.sort();
    files
}

fn is_document(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // `name.script.yaml` and `name.events.yaml` are scripts and events, not documents.
    matches!(name.split('.').collect::<Vec<_>>()[..], [_, "json" | "yaml"])
}
