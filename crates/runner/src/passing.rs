//! Failures that pass by themselves: the machine was short of memory, processes, descriptors or space, or a process was
//! killed. Says which they are and how long to wait; what is done again, its caller decides.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

/// Between the tries of one git call.
pub(crate) const CALL_WAITS: [Duration; 3] =
    [Duration::from_millis(30), Duration::from_millis(150), Duration::from_millis(600)];

/// Between the tries of one effect, each of which adopts what the one before has done.
pub(crate) const EFFECT_WAITS: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(8)];

const PASSING: [Errno; 9] = [
    Errno::AGAIN,
    Errno::INTR,
    Errno::NOMEM,
    Errno::MFILE,
    Errno::NFILE,
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::TXTBSY,
    Errno::BUSY,
];

/// How git puts the same errors, by the C library's words (`LC_ALL=C`) and by its own.
const WORDS: [&str; 8] = [
    "Resource temporarily unavailable",
    "Interrupted system call",
    "Cannot allocate memory",
    "Out of memory",
    "out of memory",
    "Too many open files",
    "No space left on device",
    "Disk quota exceeded",
];

/// Whether a system call that failed like this may succeed a moment later.
pub(crate) fn passes(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| PASSING.iter().any(|errno| errno.raw_os_error() == code))
}

/// Whether a program that failed with these words may succeed a moment later.
pub(crate) fn words_pass(stderr: &str) -> bool {
    WORDS.iter().any(|words| stderr.contains(words))
}

/// Lets a moment pass, on a thread that may block.
#[expect(clippy::disallowed_methods, reason = "nothing tells when a machine has memory again")]
pub(crate) fn rest(wait: Duration) {
    std::thread::sleep(wait);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_memory_passes_and_a_missing_file_does_not() {
        for code in [11, 12, 24, 28] {
            assert!(passes(&io::Error::from_raw_os_error(code)), "{code}");
        }
        assert!(!passes(&io::Error::from_raw_os_error(2)));
        assert!(!passes(&io::Error::from_raw_os_error(13)));
        assert!(words_pass("fatal: Out of memory, malloc failed (tried to allocate 10 bytes)"));
        assert!(words_pass("error: cannot fork() for index-pack: Resource temporarily unavailable"));
        assert!(!words_pass("fatal: not a git repository: 'x'"));
    }
}
