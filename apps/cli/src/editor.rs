//! Lets the person write in their own editor.

use std::{fs, io::Write as _, os::unix::fs::OpenOptionsExt as _, process::Command};

use crate::{failure::Failure, home::Home, report};

/// What the person made of a text; `None` when they left it as it was. Blocks until the editor is closed.
pub(crate) fn edit(home: &Home, text: &str, ending: &str) -> Result<Option<String>, Failure> {
    if !report::person_present() {
        let hint = "save `holdpoint plan RUN` to a file, edit it, and hand it in with --file";
        return Err(Failure::usage("there is no terminal to edit on", hint));
    }
    let path = home.path().join(format!("edit-{}.{ending}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| Failure::file("write", &path, &error))?;
    file.write_all(text.as_bytes()).map_err(|error| Failure::file("write", &path, &error))?;
    drop(file);
    let named = ["VISUAL", "EDITOR"].iter().filter_map(std::env::var_os).find(|name| !name.is_empty());
    // Through the shell, because an editor may be named with arguments.
    let done = Command::new("sh")
        .args(["-c", "$HOLDPOINT_EDITOR \"$1\"", "sh"])
        .arg(&path)
        .env("HOLDPOINT_EDITOR", named.unwrap_or_else(|| "vi".into()))
        .status();
    let written = fs::read_to_string(&path);
    // A file that cannot be removed does no harm: the next edit of this process writes over it.
    let _ = fs::remove_file(&path);
    match done {
        Ok(status) if status.success() => {
            let written = written.map_err(|error| Failure::file("read", &path, &error))?;
            Ok(Some(written).filter(|written| written != text))
        }
        Ok(_) | Err(_) => {
            Err(Failure::failed("editor", "the editor did not end well", "set EDITOR to one that works here"))
        }
    }
}
