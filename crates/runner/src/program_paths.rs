//! What a program that the user named by its path needs to be started in a sandbox, which shows the system's own programs
//! only: the folder it lies in.

use std::path::{Component, Path, PathBuf};

/// Places where a folder holds more than one program's files.
const SHARED: &[&str] = &["/etc", "/var", "/run", "/proc", "/sys", "/dev", "/root", "/boot"];

/// The folders of a command's program, and of the script that an interpreter is given. Where a folder is a home, or holds
/// the data directory, it is the file alone.
pub(crate) fn folders<'a>(command: impl IntoIterator<Item = &'a str>, data: &Path) -> Vec<PathBuf> {
    let words: Vec<&str> = command.into_iter().take(2).map(|word| word.trim_matches(['"', '\''])).collect();
    let interpreted = words.first().is_some_and(|first| !first.starts_with('/'));
    let program = words.into_iter().nth(usize::from(interpreted)).map(Path::new);
    program
        .filter(|program| program.is_absolute() && program.is_file())
        .map(|path| shown(path, data))
        .into_iter()
        .collect()
}

fn shown(program: &Path, data: &Path) -> PathBuf {
    let own = program.parent().filter(|folder| {
        let names = folder.components().filter(|part| matches!(part, Component::Normal(_))).count();
        let wide = data.starts_with(folder) || SHARED.iter().any(|shared| folder.starts_with(shared));
        let home = folder.starts_with("/home") && names < 3;
        names >= 2 && !wide && !home
    });
    own.unwrap_or(program).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_folder_is_shown_and_a_wide_one_never_is() {
        let data = Path::new("/srv/holdpoint/data");
        for (program, expected) in [
            ("/srv/agents/mine", "/srv/agents"),
            ("/home/ada/agents/mine", "/home/ada/agents"),
            ("/home/ada/mine", "/home/ada/mine"),
            ("/root/mine", "/root/mine"),
            ("/srv/mine", "/srv/mine"),
            ("/srv/holdpoint/mine", "/srv/holdpoint/mine"),
            ("/etc/agents/mine", "/etc/agents/mine"),
        ] {
            assert_eq!(shown(Path::new(program), data), Path::new(expected));
        }
    }

    #[test]
    fn an_interpreters_script_counts_and_names_on_the_path_do_not() {
        let root = tempfile::tempdir().unwrap();
        let script = root.path().join("agents/mine.py");
        std::fs::create_dir(root.path().join("agents")).unwrap();
        std::fs::write(&script, "").unwrap();
        let data = Path::new("/data");
        let text = format!("python3 '{}' --fast", script.display());
        assert_eq!(folders(text.split_whitespace(), data), [root.path().join("agents")]);
        assert!(folders(["claude", "--flag"], data).is_empty());
        assert!(folders(["/no/such/program"], data).is_empty());
        assert!(folders([], data).is_empty());
    }
}
