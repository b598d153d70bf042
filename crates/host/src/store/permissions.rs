//! Who may use the files of a store: only its owner, whatever the umask, unless the operator has opened the store to a group.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// A new file that only its owner can read and write from the moment it exists.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // A strict umask takes rights away from the owner too.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Creates a folder with those around it. The ones that are new belong to their owner alone; others stay as they are.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(around) = path.parent().filter(|around| !around.as_os_str().is_empty()) {
        private_folder(around)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// The folder of the owners' locks: open to those who may write the store, and to nobody else. Whoever can open a lock file can
/// hold its lock, and would keep the runs of a dead process from being resumed.
pub(super) fn lock_folder(store: &Path, folder: &Path) -> io::Result<()> {
    private_folder(folder)?;
    let wanted = [0o600, 0o060, 0o006].into_iter().filter(|class| mode(store).unwrap_or(0o600) & class == *class);
    let wanted = wanted.fold(0o700, |mode, class| mode | class | (class >> 1) & 0o111);
    let found = fs::metadata(folder)?;
    if found.mode() & 0o777 != wanted && found.uid() == rustix::process::geteuid().as_raw() {
        fs::set_permissions(folder, Permissions::from_mode(wanted))?;
    }
    Ok(())
}

/// A new lock file with the rights of the store.
pub(super) fn lock_file(store: &Path, path: &Path) -> io::Result<File> {
    let rights = mode(store).unwrap_or(0o600) & 0o666;
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(rights))?;
    Ok(file)
}

/// The rights of a file, without its type; none if there is no such file.
pub(super) fn mode(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|found| found.mode() & 0o777)
}
