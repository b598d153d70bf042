//! Lists the files of the built web page, if there are any, so that the program contains them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Where `make web` puts the page.
const PAGE: &str = "../../web/dist";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join(PAGE);
    let mut files = Vec::new();
    // The folder is absent where the crate is built outside of the repository.
    if root.is_dir() {
        println!("cargo::rerun-if-changed={PAGE}");
        collect(&root.join("page"), &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in files.iter().filter(|file| !files.contains(&packed(file))) {
        let is_gzip = file.extension().is_some_and(|ending| ending == "gz");
        let path =
            file.strip_prefix(root.join("page")).expect("it is below the folder").to_string_lossy().replace('\\', "/");
        let path = if is_gzip { path.trim_end_matches(".gz") } else { &path };
        let place = file.display().to_string();
        writeln!(list, "    WebFile {{ path: {path:?}, bytes: include_bytes!({place:?}), is_gzip: {is_gzip} }},")
            .expect("text can be written");
    }
    list.push(']');
    let output = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&output).join("web_files.rs"), list)
}

/// The compressed copy of a file.
fn packed(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
