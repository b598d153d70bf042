//! The files that a run is started with.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use branchpoint_expr::Dialect;
use branchpoint_runners::ReadError;
use branchpoint_runners::read_regular_file;
use branchpoint_runners::storage::{MAX_FILE_BYTES, MAX_UPLOADS, Upload, Uploads};

/// Reads the files of `--attach`.
pub(super) fn read(paths: &[PathBuf], dialect: Option<Dialect>) -> Result<Uploads> {
    if paths.is_empty() {
        return Ok(Uploads::default());
    }
    if dialect != Some(Dialect::Steps) {
        bail!("only workflows of steps have attachments\nhelp: give the path of the file as an input, with -i");
    }
    if paths.len() > MAX_UPLOADS {
        bail!("{} files are attached, but at most {MAX_UPLOADS} are allowed", paths.len());
    }
    let files = paths.iter().map(|path| one(path)).collect::<Result<Vec<_>>>()?;
    Ok(Uploads::new(files)?)
}

fn one(path: &Path) -> Result<Upload> {
    let shown = path.display();
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| anyhow!("cannot attach {shown}: its name is not text in UTF-8"))?;
    let bytes = read_regular_file(path, MAX_FILE_BYTES as u64).map_err(|error| match error {
        ReadError::TooLong { limit } => {
            anyhow!("cannot attach {shown}: it has more than the {limit} bytes that are allowed")
        }
        error => anyhow::Error::from(error).context(format!("cannot attach {shown}")),
    })?;
    Upload::new(name, None, bytes).with_context(|| format!("cannot attach {shown}"))
}
