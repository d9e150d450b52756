//! Lets the person write in their own editor.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
    process::Command,
};

use crate::{failure::Failure, home::Home, report};

/// A text that a person works on until it is taken: one that was refused is where they left it.
#[derive(Debug)]
pub(crate) struct Draft {
    path: PathBuf,
}

impl Draft {
    /// The draft for a hold.
    pub(crate) fn of(home: &Home, hold: &str, ending: &str) -> Self {
        let name: String = hold.chars().filter(char::is_ascii_alphanumeric).collect();
        Self { path: home.path().join(format!("draft-{name}.{ending}")) }
    }

    /// What the person made of a text; `None` when they left it as it was. Blocks until the editor is closed.
    pub(crate) fn edit(&self, text: &str) -> Result<Option<String>, Failure> {
        if !report::person_present() {
            let hint = "save `holdpoint plan RUN` to a file, edit it, and hand it in with --file";
            return Err(Failure::usage("there is no terminal to edit on", hint));
        }
        self.begin(text)?;
        let named = ["VISUAL", "EDITOR"].iter().filter_map(std::env::var_os).find(|name| !name.is_empty());
        // Through the shell, because an editor may be named with arguments.
        let done = Command::new("sh")
            .args(["-c", "$HOLDPOINT_EDITOR \"$1\"", "sh"])
            .arg(&self.path)
            .env("HOLDPOINT_EDITOR", named.unwrap_or_else(|| "vi".into()))
            .status();
        match done {
            Ok(status) if status.success() => self.read(text),
            Ok(_) | Err(_) => {
                Err(Failure::failed("editor", "the editor did not end well", "set EDITOR to one that works here"))
            }
        }
    }

    fn begin(&self, text: &str) -> Result<(), Failure> {
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path);
        let written = match file {
            Ok(mut file) => file.write_all(text.as_bytes()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        };
        written.map_err(|error| Failure::file("write", &self.path, &error))
    }

    fn read(&self, text: &str) -> Result<Option<String>, Failure> {
        let written = fs::read_to_string(&self.path).map_err(|error| Failure::file("read", &self.path, &error))?;
        if written == text {
            self.drop();
            return Ok(None);
        }
        Ok(Some(written))
    }

    /// The text was taken, or nothing was changed.
    pub(crate) fn drop(&self) {
        // One that cannot be removed does no harm: its hold is gone.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_that_was_not_taken_is_where_the_person_left_it() {
        let folder = tempfile::tempdir().unwrap();
        let draft = Draft { path: folder.path().join("draft-1.json") };
        draft.begin("shown").unwrap();
        assert_eq!(draft.read("shown").unwrap(), None);
        draft.begin("shown").unwrap();
        fs::write(&draft.path, "mine").unwrap();
        draft.begin("shown").unwrap();
        assert_eq!(draft.read("shown").unwrap().as_deref(), Some("mine"));
        draft.drop();
        draft.begin("shown again").unwrap();
        assert_eq!(fs::read_to_string(&draft.path).unwrap(), "shown again");
    }
}
