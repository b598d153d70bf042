//! Permissions of the files of a store: only their owner may use them, whatever the umask, unless the operator has given a group
//! access to the store.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Creates a file that only its owner can read and write from the beginning.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // A strict umask removes permissions of the owner, too.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Creates a folder and its missing parents. Only their owner can use new folders; existing ones are unchanged.
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

/// Creates the folder of the lock files. Only users who may write the store can open it: a user who can open a lock file could hold
/// its lock, and the runs of a dead process would not be resumed.
pub(super) fn lock_folder(store: &Path, folder: &Path) -> io::Result<()> {
    private_folder(folder)?;
    let wanted = [0o600, 0o060, 0o006].into_iter().filter(|class| mode(store).unwrap_or(0o600) & class == *class);
    let wanted = wanted.fold(0o700, |mode, class| mode | class | (class >> 1) & 0o111);
    let metadata = fs::metadata(folder)?;
    if metadata.mode() & 0o777 != wanted && metadata.uid() == rustix::process::geteuid().as_raw() {
        fs::set_permissions(folder, Permissions::from_mode(wanted))?;
    }
    Ok(())
}

/// Creates a lock file with the permissions of the store.
pub(super) fn lock_file(store: &Path, path: &Path) -> io::Result<File> {
    let rights = mode(store).unwrap_or(0o600) & 0o666;
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(rights))?;
    Ok(file)
}

/// The permission bits of a file; `None` if it does not exist.
pub(super) fn mode(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|metadata| metadata.mode() & 0o777)
}
