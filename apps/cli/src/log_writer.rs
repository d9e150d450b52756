//! The writer of every log line: takes out known secrets and what looks like one, before a byte of the line is written.

use std::io::{self, Write as _};
use std::sync::Arc;

use runner::ServerSecrets;
use tracing_subscriber::fmt::MakeWriter;

/// Makes a writer for each line. What becomes known later is redacted from then on.
#[derive(Clone)]
pub(crate) struct LogWriter {
    secrets: ServerSecrets,
    out: Output,
}

/// Where a whole line goes.
type Output = Arc<dyn Fn(&[u8]) + Send + Sync>;

impl LogWriter {
    /// To standard error.
    pub(crate) fn to_stderr(secrets: ServerSecrets) -> Self {
        // A log that cannot be written must not end what is logged.
        Self { secrets, out: Arc::new(|line| drop(io::stderr().write_all(line))) }
    }

    /// Panics are log lines too: their messages may hold anything.
    pub(crate) fn take_panics(&self) {
        let writer = self.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let thread = std::thread::current();
            let backtrace = std::backtrace::Backtrace::capture();
            let backtrace = match backtrace.status() {
                std::backtrace::BacktraceStatus::Captured => format!("\n{backtrace}"),
                _ => String::new(),
            };
            let text = format!("thread '{}' {panic}{backtrace}\n", thread.name().unwrap_or("without a name"));
            writer.write(text.as_bytes());
        }));
    }

    fn write(&self, line: &[u8]) {
        (self.out)(self.secrets.redact(&String::from_utf8_lossy(line)).as_bytes());
    }
}

impl<'writer> MakeWriter<'writer> for LogWriter {
    type Writer = LogLine<'writer>;

    fn make_writer(&'writer self) -> LogLine<'writer> {
        LogLine { writer: self, text: Vec::new() }
    }
}

/// One line, kept until it is whole: a secret may come in two writes.
pub(crate) struct LogLine<'writer> {
    writer: &'writer LogWriter,
    text: Vec<u8>,
}

impl io::Write for LogLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine<'_> {
    fn drop(&mut self) {
        if !self.text.is_empty() {
            self.writer.write(&self.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use tracing_subscriber::prelude::*;

    /// A writer, its secrets, and what it wrote so far.
    fn kept() -> (LogWriter, ServerSecrets, Arc<Mutex<Vec<u8>>>) {
        let (secrets, kept) = (ServerSecrets::default(), Arc::new(Mutex::new(Vec::new())));
        let keep = Arc::clone(&kept);
        let out = Arc::new(move |line: &[u8]| keep.lock().unwrap().extend_from_slice(line));
        (LogWriter { secrets: secrets.clone(), out }, secrets, kept)
    }

    fn text(kept: &Mutex<Vec<u8>>) -> String {
        String::from_utf8(kept.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn every_field_of_every_line_is_without_known_secrets_and_vendors_tokens() {
        let (writer, secrets, kept) = kept();
        secrets.add("the key of `acme`", "plain words as a key");
        secrets.add("quoted", "qu\"ote\\back");
        let token = ["gh", "p_q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3u"].concat();
        let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
            let span = tracing::info_span!("effect", url = "http://h/?k=plain%20words%20as%20a%20key");
            span.in_scope(|| tracing::warn!(base64 = "eHBsYWluIHdvcmRzIGFzIGEga2V5", "answer: {token}"));
            tracing::info!(error = ?Some("plain words as a key"), json = %r#"{"key":"qu\"ote\\back"}"#, "x");
            tracing::info!(json = ?r#"{"key":"qu\"ote\\back"}"#, "escaped twice");
        });
        let log = text(&kept);
        for hidden in ["plain words", "plain%20words", "cGxhaW4gd29yZHM", "BsYWluIHdvcmRz", &token, "ote"] {
            assert!(!log.replace("quoted", "").contains(hidden), "{hidden} in {log}");
        }
        assert!(log.contains("[redacted: GitHub token]") && log.contains("[redacted: the key of `acme`]"), "{log}");
        assert_eq!(log.lines().count(), 3, "{log}");
    }

    #[test]
    fn a_secret_that_comes_in_two_writes_is_found() {
        let (writer, secrets, kept) = kept();
        secrets.add("the key of `acme`", "plain words as a key");
        let mut line = writer.make_writer();
        line.write_all(b"key: plain wor").unwrap();
        line.flush().unwrap();
        line.write_all(b"ds as a key!\n").unwrap();
        drop(line);
        assert_eq!(text(&kept), "key: [redacted: the key of `acme`]!\n");
    }

    #[test]
    fn what_becomes_known_later_is_redacted_from_then_on() {
        let (writer, secrets, kept) = kept();
        writer.write(b"first-key-of-mine\n");
        secrets.add("a key", "first-key-of-mine");
        writer.write(b"first-key-of-mine\n");
        assert_eq!(text(&kept), "first-key-of-mine\n[redacted: a key]\n");
    }
}
