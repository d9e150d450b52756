//! The only place that prints. Data goes to standard output, everything else to standard error;
//! colours appear on a terminal only and never against `NO_COLOR`.

pub(crate) mod agent;
pub(crate) mod change;
mod clean;
pub(crate) mod compare;
mod diagram;
pub(crate) mod estimate;
pub(crate) mod fact;
pub(crate) mod goal;
pub(crate) mod hold;
pub(crate) mod markdown;
pub(crate) mod metrics;
pub(crate) mod model;
pub(crate) mod notify;
pub(crate) mod playbook;
pub(crate) mod rail;
pub(crate) mod run;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod talk;
pub(crate) mod task;
pub(crate) mod tasks;
pub(crate) mod words;

use std::io::{self, IsTerminal as _, Write};

use serde::Serialize;

pub(crate) use clean::{clean, clean_line};

use crate::failure::Failure;

/// For whom the data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Human,
    Json,
}

/// Prints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    pub(crate) format: Format,
}

impl Report {
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Data for people, already cleaned.
    pub(crate) fn data(self, text: &str) {
        emit(anstream::stdout().lock(), text);
    }

    /// Raw bytes of a file, for `> file`; cleaned by the caller when a terminal reads them.
    pub(crate) fn raw(self, text: &str) {
        emit_raw(io::stdout().lock(), text);
    }

    /// Everything that is not data.
    pub(crate) fn note(self, text: &str) {
        emit_note(text);
    }

    /// Moves the cursor of a terminal; only where `can_redraw`.
    pub(crate) fn control(self, sequence: &str) {
        emit_raw(io::stderr().lock(), sequence);
    }

    /// Data for programs: one value.
    pub(crate) fn json(self, value: &impl Serialize) {
        let text = serde_json::to_string_pretty(value).expect("views have only string keys");
        emit_raw(io::stdout().lock(), &format!("{}\n", clean::escape_json(&text)));
    }

    /// Data for programs: one value per line.
    pub(crate) fn json_line(self, value: &impl Serialize) {
        let text = serde_json::to_string(value).expect("views have only string keys");
        emit_raw(io::stdout().lock(), &format!("{}\n", clean::escape_json(&text)));
    }

    /// Why it did not work.
    pub(crate) fn failure(self, failure: &Failure) {
        match self.format {
            Format::Human => self.note(&failure_text(failure)),
            Format::Json => {
                let text = serde_json::to_string(&failure.problem).expect("a problem is plain text");
                emit_raw(io::stderr().lock(), &format!("{}\n", clean::escape_json(&text)));
            }
        }
    }
}

/// Whether a person sits at the keyboard and sees what is asked.
pub(crate) fn person_present() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether standard error can be redrawn.
pub(crate) fn can_redraw() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Columns of the terminal; 80 where there is none.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr()).or_else(|_| rustix::termios::tcgetwinsize(io::stdout()));
    size.map_or(80, |size| usize::from(size.ws_col)).clamp(20, 120)
}

/// Rows of the terminal; 24 where there is none.
pub(crate) fn height() -> usize {
    rustix::termios::tcgetwinsize(io::stderr()).map_or(24, |size| usize::from(size.ws_row)).max(10)
}

fn failure_text(failure: &Failure) -> String {
    use style::{BAD, DIM};
    let message = clean(&failure.problem.message);
    let hint = clean(&failure.problem.hint);
    let field = failure.problem.field.as_deref().map(clean_line);
    let place = field.map(|field| format!(" {DIM}({field}){DIM:#}")).unwrap_or_default();
    let tail = if hint.is_empty() { String::new() } else { format!("{DIM}hint:{DIM:#} {hint}\n") };
    format!("{BAD}error:{BAD:#} {message}{place}\n{tail}")
}

fn emit(mut stream: impl Write, text: &str) {
    let line_end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    settle(write!(stream, "{text}{line_end}").and_then(|()| stream.flush()));
}

fn emit_raw(mut stream: impl Write, text: &str) {
    settle(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()));
}

/// A reader that has gone (`| head`) wants nothing more; data that cannot be written is a failure.
fn settle(written: io::Result<()>) {
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            let failure = Failure::unavailable("output", format!("cannot write the output: {error}"), "check the disk");
            emit_note(&failure_text(&failure));
            std::process::exit(failure.exit.number().into());
        }
    }
}

/// There is nobody left to tell that standard error cannot be written.
fn emit_note(text: &str) {
    let line_end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    let mut stream = anstream::stderr().lock();
    let _nobody = write!(stream, "{text}{line_end}").and_then(|()| stream.flush());
}

/// The same without colours.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_and_what_next_without_hostile_bytes() {
        let failure = Failure::usage("no such run `\u{1b}]0;x\u{7}`", "try `holdpoint list`");
        let expected = "error: no such run `\u{fffd}]0;x\u{fffd}`\nhint: try `holdpoint list`\n";
        assert_eq!(plain(&failure_text(&failure)), expected);
    }
}
