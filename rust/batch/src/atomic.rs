//! A file that appears whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Error;

/// Ending of every temporary file, so that what a killed process left behind can be told from data.
pub(crate) const SUFFIX: &str = ".ctxproto-tmp";

/// Written beside `target` and renamed over it by [`commit`](Self::commit); dropped before that, it is gone.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    file: Option<BufWriter<File>>,
    temporary: PathBuf,
    target: PathBuf,
}

impl AtomicFile {
    /// Starts a file that will stand at `target`. Parent directories are made where they are missing. A target
    /// that is a symbolic link is written where it points, as a shell's `>` would.
    pub(crate) fn create(target: &Path) -> Result<Self, Error> {
        let target = resolve(target)?;
        let parent = match target.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(Error::write)?;
        loop {
            // The name says nothing about the target's, which may already be as long as a name can be.
            static SERIAL: AtomicU32 = AtomicU32::new(0);
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let temporary = parent.join(format!(".{}-{serial}{SUFFIX}", std::process::id()));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&temporary) {
                Ok(file) => {
                    let file = Some(BufWriter::with_capacity(1 << 20, file));
                    return Ok(Self { file, temporary, target });
                }
                // Left by a killed process with our number.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::write(e)),
            }
        }
    }

    /// Makes the file durable, gives it the permissions (and, where allowed, the owner) of `like`, and puts it in
    /// the target's place. Returns its size.
    pub(crate) fn commit(mut self, like: &Metadata) -> io::Result<u64> {
        let file = self.file.take().expect("only commit takes it");
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            // Only root may give files away: for everybody else the owner is already right or cannot be.
            // The owner comes first, because changing it takes set-id bits away.
            let _ = fchown(&file, Some(like.uid()), Some(like.gid()));
        }
        file.set_permissions(like.permissions())?;
        file.sync_all()?;
        let size = file.metadata()?.len();
        fs::rename(&self.temporary, &self.target)?;
        self.temporary = PathBuf::new();
        Ok(size)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.file.as_mut().expect("open until commit").write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().expect("open until commit").flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What is still in the buffer belongs to nobody.
            drop(file.into_parts());
        }
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Where writing to `target` ends up; only a file that does not exist yet or a regular one may be replaced
/// (renaming over `/dev/null` would work, for root, once).
fn resolve(target: &Path) -> Result<PathBuf, Error> {
    match fs::symlink_metadata(target) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(target.to_owned()),
        Err(e) => Err(Error::write(e)),
        Ok(m) if m.is_symlink() => {
            let real = fs::canonicalize(target).map_err(Error::write)?;
            resolve(&real)
        }
        Ok(m) if m.is_file() => Ok(target.to_owned()),
        Ok(m) if m.is_dir() => Err(Error::Refused("the output is a directory")),
        Ok(_) => {
            Err(Error::Refused("the output exists and is not a regular file; use - for standard output"))
        }
    }
}

/// Makes renames durable; a file system that cannot do that to a directory loses nothing else.
pub(crate) fn sync_directory(directory: &Path) {
    if let Ok(d) = File::open(directory) {
        let _ = d.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_there_until_commit_and_nothing_is_left_without_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("deep/er/out");
        let mut f = AtomicFile::create(&target).expect("created");
        f.write_all(b"half").expect("written");
        assert!(!target.exists());
        drop(f);
        assert_eq!(fs::read_dir(target.parent().expect("has one")).expect("a directory").count(), 0);

        let mut f = AtomicFile::create(&target).expect("created");
        f.write_all(b"whole").expect("written");
        assert_eq!(f.commit(&fs::metadata(dir.path()).expect("there")).expect("renamed"), 5);
        assert_eq!(fs::read(&target).expect("there"), b"whole");
        assert_eq!(fs::read_dir(target.parent().expect("has one")).expect("a directory").count(), 1);
    }
}
