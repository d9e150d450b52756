//! Taking a conversation along to a fork. When a process of an agent has ended, it is noted how long the files of its
//! conversation are; a fork gets them up to there, whatever was said afterwards. Only for our own agent, whose
//! conversation is these files and nothing else.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use domain::{Run, RunId, Session};
use drivers::{GUIDANCE_FILE, NOTES_FILE, OBSERVATIONS_FILE, TURNS_FILE};

use crate::dir_fd::{Dir, FileError, Kind, read_trusted};
use crate::laid::put;
use crate::paths::Paths;
use crate::trouble::Trouble;

/// What a conversation consists of: lines that are only ever added to.
const GROWING: [&str; 4] = [TURNS_FILE, GUIDANCE_FILE, NOTES_FILE, OBSERVATIONS_FILE];
/// Where an agent keeps long output that it may look at again.
const OUTPUTS: &str = "output";
/// Bytes of one file of a conversation, and of all the long output of one.
const MOST: u64 = 256 * 1024 * 1024;
/// Bytes of one file of long output; an agent of ours writes less.
const MOST_OUTPUT: u64 = 16 * 1024 * 1024;
/// Files of long output that are taken along.
const MOST_OUTPUTS: usize = 10_000;
/// Bytes of a mark.
const MOST_MARK: u64 = 64 * 1024;
/// Bytes that are looked at together for the end of the last line.
const BLOCK: u64 = 64 * 1024;

/// Lengths of the files when a process had ended.
type Mark = BTreeMap<String, u64>;

/// Notes how far a conversation has come, now that nobody works in it.
pub(crate) fn mark(paths: &Paths, run: &RunId, session: &Session) -> Result<(), Trouble> {
    let path = paths.mark(run, session);
    let written = (|| {
        let folder = Dir::create(&paths.session(run, session))?;
        // A file that is none, or cannot be read, is no part of the conversation.
        let length = |name: &&str| Some((String::from(*name), whole_lines(&folder, name).ok()?));
        let mark: Mark = GROWING.iter().filter_map(length).collect();
        let text = serde_json::to_vec(&mark)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.as_encoded_bytes();
        let fresh = [name, b".new"].concat();
        let marks = Dir::create(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        marks.write_synced(&fresh, &text, 0o600)?;
        marks.rename(&fresh, &marks, name)
    })();
    written.map_err(|error| Trouble::io("writing", &path, &error))
}

/// Bytes up to the end of the last whole line: what a kill cut off is not part of the conversation. Read from the end,
/// a block at a time.
fn whole_lines(folder: &Dir, name: &str) -> Result<u64, FileError> {
    let mut file = folder.open_file(name)?;
    let mut end = file.metadata()?.len();
    if end > MOST {
        return Err(FileError::TooLarge { limit: MOST });
    }
    let mut bytes = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        file.by_ref().take(end - start).read_to_end(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Gives a fork what its agents said and noted before; whether the conversation that was under way can go on in it.
/// May be done twice: what is there is written again.
pub(crate) fn carry(paths: &Paths, fork: &Run, origin: &RunId) -> Result<bool, Trouble> {
    let goes_on = fork.carried_session();
    for session in fork.sessions.values() {
        for visit in 1..=session.visit {
            let earlier = Session { visit, ..session.clone() };
            let current = goes_on.is_some_and(|known| known.role == earlier.role && known.visit == visit);
            if !current {
                let (from, to) = (paths.session(origin, &earlier), paths.session(&fork.id, &earlier));
                copy_small(&from, &to)?;
            }
        }
    }
    match goes_on {
        Some(session) => go_on(paths, &fork.id, origin, session),
        None => Ok(false),
    }
}

/// What earlier conversations noted for later ones.
fn copy_small(from: &Path, to: &Path) -> Result<(), Trouble> {
    let Some(folder) = opened(from)? else { return Ok(()) };
    for name in [NOTES_FILE, OBSERVATIONS_FILE] {
        if let Some(bytes) = beginning(&folder, name, MOST) {
            make_folder(to)?;
            put(to, name, &bytes)?;
        }
    }
    Ok(())
}

pub(crate) fn go_on(paths: &Paths, fork: &RunId, origin: &RunId, session: &Session) -> Result<bool, Trouble> {
    let (from, to) = (paths.session(origin, session), paths.session(fork, session));
    let mark = read_trusted(&paths.mark(origin, session), MOST_MARK).ok();
    let Some(mark) = mark.and_then(|bytes| serde_json::from_slice::<Mark>(&bytes).ok()) else { return Ok(false) };
    let Some(from) = opened(&from)? else { return Ok(false) };
    let cut = |name: &str| mark.get(name).and_then(|length| Some((*length, beginning(&from, name, *length)?)));
    // Shorter than it was is not what it was.
    let Some(turns) = cut(TURNS_FILE).filter(|(length, bytes)| bytes.len() as u64 == *length) else { return Ok(false) };
    if turns.0 == 0 {
        return Ok(false);
    }
    make_folder(&to)?;
    for name in [GUIDANCE_FILE, NOTES_FILE, OBSERVATIONS_FILE] {
        if let Some((_, bytes)) = cut(name) {
            put(&to, name, &bytes)?;
        }
    }
    copy_extensions(&from, &to, session.attempt)?;
    copy_outputs(&from, &to).map_err(|error| Trouble::io("copying the long output into", &to, &error))?;
    let moved = in_its_workspace(&turns.1, &paths.workspace(origin), &paths.workspace(fork));
    put(&to, TURNS_FILE, &moved)?;
    self::mark(paths, fork, session)?;
    Ok(true)
}

/// The conversation names the workspace it is in. What the model itself said stays as it said it: some of it is signed.
fn in_its_workspace(turns: &[u8], from: &Path, to: &Path) -> Vec<u8> {
    let (from, to) = (from.display().to_string(), to.display().to_string());
    let mut moved = Vec::with_capacity(turns.len());
    for line in turns.split_inclusive(|byte| *byte == b'\n') {
        match std::str::from_utf8(line) {
            Ok(text) if !text.starts_with("{\"assistant\"") => moved.extend(text.replace(&from, &to).bytes()),
            Ok(_) | Err(_) => moved.extend(line),
        }
    }
    moved
}

/// That more time was granted is known by empty files, one for each process that had asked for some.
fn copy_extensions(from: &Dir, to: &Path, attempt: u32) -> Result<(), Trouble> {
    for attempt in 1..=attempt {
        let name = crate::brief::extension_file(attempt);
        if from.open_file(&name).is_ok() {
            put(to, &name, b"")?;
        }
    }
    Ok(())
}

/// Copies the plain files of the folder with long output; an agent that made something else of that folder has none.
fn copy_outputs(from: &Dir, to: &Path) -> io::Result<()> {
    if from.kind(OUTPUTS.as_bytes())? != Some(Kind::Directory) {
        return Ok(());
    }
    let (from, to) = (from.sub(OUTPUTS.as_bytes())?, Dir::open(to)?.make_sub(OUTPUTS.as_bytes())?);
    let mut left = MOST;
    for name in from.some_names(MOST_OUTPUTS)? {
        let Ok(bytes) = from.read_start(&name, left.min(MOST_OUTPUT)) else { continue };
        left = left.saturating_sub(bytes.len() as u64);
        to.write(&name, &bytes, 0o600)?;
    }
    Ok(())
}

/// A session folder, where there is one.
fn opened(folder: &Path) -> Result<Option<Dir>, Trouble> {
    match Dir::open(folder) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Trouble::io("reading", folder, &error)),
    }
}

/// The first bytes of a file that is one: a link or a pipe that an agent put there is not.
fn beginning(folder: &Dir, name: &str, length: u64) -> Option<Vec<u8>> {
    folder.read_start(name, length.min(MOST)).ok()
}

fn make_folder(folder: &Path) -> Result<(), Trouble> {
    Dir::create(folder).map(drop).map_err(|error| Trouble::io("creating", folder, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENING: &str = "{\"opening\":{\"system\":\"\",\"user\":\"work in /h/runs/a/workspace\"}}\n";
    const SAID: &str = "{\"assistant\":{\"text\":\"I am in /h/runs/a/workspace\"}}\n";

    #[test]
    fn only_what_the_model_did_not_say_itself_is_moved_to_the_new_workspace() {
        let turns = format!("{OPENING}{SAID}");
        let moved =
            in_its_workspace(turns.as_bytes(), Path::new("/h/runs/a/workspace"), Path::new("/h/runs/b/workspace"));
        assert_eq!(String::from_utf8(moved).unwrap(), OPENING.replace("/a/", "/b/") + SAID);
    }

    #[test]
    fn a_conversation_is_carried_up_to_its_mark_and_not_at_all_without_one() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(home.path());
        let (origin, fork) = (testkit::samples::run_id(1), testkit::samples::run_id(2));
        let session = Session { role: "planner".into(), visit: 1, attempt: 1 };
        let folder = paths.session(&origin, &session);
        std::fs::create_dir_all(folder.join(OUTPUTS)).unwrap();
        std::fs::write(folder.join(TURNS_FILE), format!("{SAID}{{\"half")).unwrap();
        std::fs::write(folder.join(OUTPUTS).join("1"), "long").unwrap();
        assert!(!go_on(&paths, &fork, &origin, &session).unwrap(), "nobody noted how far it had come");
        mark(&paths, &origin, &session).unwrap();
        std::fs::write(folder.join(TURNS_FILE), format!("{SAID}{{\"later\":1}}\n")).unwrap();
        std::fs::write(folder.join(GUIDANCE_FILE), "{\"later\":1}\n").unwrap();
        for _ in 0..2 {
            assert!(go_on(&paths, &fork, &origin, &session).unwrap());
        }
        let to = paths.session(&fork, &session);
        assert_eq!(std::fs::read_to_string(to.join(TURNS_FILE)).unwrap(), SAID);
        assert_eq!(std::fs::read_to_string(to.join(OUTPUTS).join("1")).unwrap(), "long");
        assert!(!to.join(GUIDANCE_FILE).exists(), "it was said later");
        let again = testkit::samples::run_id(3);
        assert!(go_on(&paths, &again, &fork, &session).unwrap(), "a fork can be forked at the same place");
        std::fs::write(folder.join(TURNS_FILE), "{}\n").unwrap();
        assert!(!go_on(&paths, &again, &origin, &session).unwrap(), "what is shorter than it was is something else");
        std::fs::remove_file(folder.join(TURNS_FILE)).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join(TURNS_FILE)).unwrap();
        assert!(!go_on(&paths, &again, &origin, &session).unwrap(), "a link is not followed");
    }
}
