//! Takes what the agent prints and keeps what fits. It always reads on, so that a full spool or a
//! flood never blocks the agent, and it holds at most one line and one tail in memory.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Write},
};

/// Bytes taken from the pipe at once.
const CHUNK: usize = 64 << 10;
/// Bytes of standard error kept from its beginning.
const HEAD: u64 = 1 << 20;
/// Bytes of standard error kept from its end.
const TAIL: usize = 256 << 10;

/// The caps of standard output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caps {
    pub(super) total: u64,
    pub(super) line: usize,
}

/// Copies lines until the pipe ends; `grew` hears the size after each write. Returns how many
/// bytes were dropped.
pub(super) fn lines(mut from: impl Read, to: &File, caps: Caps, grew: impl Fn(u64)) -> u64 {
    let mut lines = Lines { caps, line: Vec::new(), written: 0, dropped: 0, ready: Vec::new() };
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        lines.take(&chunk[..read]);
        lines.flush(to, &grew);
    }
    if !lines.line.is_empty() {
        lines.finish_line();
        lines.flush(to, &grew);
    }
    lines.dropped
}

struct Lines {
    caps: Caps,
    /// The line that has not ended yet, up to the cap.
    line: Vec<u8>,
    written: u64,
    dropped: u64,
    /// Whole lines that are to be written.
    ready: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                Some(_) | None => (part, false),
            };
            let room = self.caps.line.saturating_sub(self.line.len());
            let fits = &text[..text.len().min(room)];
            self.line.extend_from_slice(fits);
            self.dropped += (text.len() - fits.len()) as u64;
            if ends {
                self.finish_line();
            }
        }
    }

    fn finish_line(&mut self) {
        let text = String::from_utf8_lossy(&self.line);
        let size = text.len() as u64 + 1;
        if self.written + self.ready.len() as u64 + size <= self.caps.total {
            self.ready.extend_from_slice(text.as_bytes());
            self.ready.push(b'\n');
        } else {
            self.dropped += size;
        }
        self.line.clear();
    }

    fn flush(&mut self, mut to: &File, grew: &impl Fn(u64)) {
        if self.ready.is_empty() {
            return;
        }
        match to.write_all(&self.ready) {
            Ok(()) => {
                self.written += self.ready.len() as u64;
                grew(self.written);
            }
            // A full disk must not stop the agent; the counter says what is missing.
            Err(_) => self.dropped += self.ready.len() as u64,
        }
        self.ready.clear();
    }
}

/// Copies the beginning as it comes and the end when the pipe ends. Returns what was dropped.
pub(super) fn head_and_tail(mut from: impl Read, mut to: &File) -> u64 {
    let (mut head, mut dropped) = (0, 0);
    let mut tail: VecDeque<u8> = VecDeque::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let room = usize::try_from(HEAD - head).unwrap_or(usize::MAX).min(read);
        if to.write_all(&chunk[..room]).is_err() {
            dropped += room as u64;
        }
        head += room as u64;
        tail.extend(&chunk[room..read]);
        let over = tail.len().saturating_sub(TAIL);
        tail.drain(..over);
        dropped += over as u64;
    }
    if !tail.is_empty() {
        let gap = format!("\n[{dropped} bytes left out]\n");
        let end = [gap.as_bytes(), tail.make_contiguous()].concat();
        if to.write_all(&end).is_err() {
            dropped += tail.len() as u64;
        }
    }
    dropped
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use super::*;

    fn check(input: &[u8], caps: Caps, expected: &str, expected_dropped: u64) {
        let mut file = tempfile::tempfile().unwrap();
        let dropped = lines(input, &file, caps, |_| {});
        let mut kept = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut kept).unwrap();
        assert_eq!((kept.as_str(), dropped), (expected, expected_dropped));
    }

    const SMALL: Caps = Caps { total: 12, line: 5 };

    #[test]
    fn whole_lines_are_kept_as_they_are_and_the_last_one_is_ended() {
        check(b"a\n\nbc", SMALL, "a\n\nbc\n", 0);
    }

    #[test]
    fn a_line_over_the_cap_is_cut_and_counted() {
        check(b"1234567\nok\n", SMALL, "12345\nok\n", 2);
    }

    #[test]
    fn lines_over_the_total_are_dropped_whole_and_counted() {
        check(b"12345\n12345\n12345\n", SMALL, "12345\n12345\n", 6);
    }

    #[test]
    fn bytes_that_are_not_text_become_replacement_characters() {
        check(b"\xff\n", SMALL, "\u{fffd}\n", 0);
    }

    #[test]
    fn standard_error_keeps_its_beginning_and_its_end() {
        let mut file = tempfile::tempfile().unwrap();
        let mut input = vec![b'h'; usize::try_from(HEAD).unwrap()];
        input.extend(vec![b'm'; 1000]);
        input.extend(vec![b't'; TAIL]);
        assert_eq!(head_and_tail(&input[..], &file), 1000);
        file.rewind().unwrap();
        let mut kept = String::new();
        file.read_to_string(&mut kept).unwrap();
        assert!(kept.starts_with("hhh") && kept.ends_with("ttt"));
        assert!(kept.contains("[1000 bytes left out]") && !kept.contains('m'));
    }
}
