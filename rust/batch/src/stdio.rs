//! Standard input and output as plain files; waiting for input is not deaf to an interrupt.

use std::fs::File;
use std::io::{self, Read};

use crate::Control;

/// Reads standard input without a buffer of its own.
///
/// A thread that waits in `read` notices nothing until the next line comes. This one waits in short turns and asks
/// its control between them.
#[derive(Debug)]
pub struct Stdin<'a> {
    file: File,
    control: Control<'a>,
}

impl<'a> Stdin<'a> {
    /// Takes a handle of its own; the process's standard input stays open.
    pub fn new(control: Control<'a>) -> io::Result<Self> {
        Ok(Self { file: duplicate(&io::stdin())?, control })
    }
}

/// Standard output without a buffer: what the redactor lets go leaves the process at once.
pub fn stdout() -> io::Result<File> {
    duplicate(&io::stdout())
}

#[cfg(unix)]
fn duplicate(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn duplicate(stream: &impl std::os::windows::io::AsHandle) -> io::Result<File> {
    Ok(stream.as_handle().try_clone_to_owned()?.into())
}

impl Read for Stdin<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        loop {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};
            const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
            // An error or a hang-up counts as ready: `read` knows best what it means.
            match poll(&mut fds, Some(&TURN)) {
                Ok(0) | Err(rustix::io::Errno::INTR) if self.control.stopped() => {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(e) => return Err(e.into()),
            }
        }
        self.file.read(buf)
    }
}
