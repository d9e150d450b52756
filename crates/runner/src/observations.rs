//! What the calls of an earlier conversation came to, for the next one. Written by an agent, so never trusted: only a
//! plain file is read, only its end, and only lines that are observations.

use std::path::Path;

use drivers::{OBSERVATIONS_FILE, Observation};

use crate::dir_fd::{Dir, FileError};
use crate::rounds::clip;

/// Only the recent ones; what they amount to is in the reflections.
const MOST: usize = 12;
const LONGEST: usize = 400;
const READ: u64 = 128 * 1024;

/// The last observations of a session, oldest first, in a few lines each.
pub(crate) fn last_lines(session: &Path) -> Vec<String> {
    // The goal loop goes on without them: they are a help, and the agent that wrote them may have removed them.
    let read = || -> Result<Vec<u8>, FileError> { Dir::open(session)?.read_end(OBSERVATIONS_FILE, READ) };
    let bytes = read().unwrap_or_default();
    let parsed = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let all: Vec<Observation> = parsed.collect();
    all[all.len().saturating_sub(MOST)..].iter().map(told).collect()
}

fn told(observation: &Observation) -> String {
    let came = if observation.success { "worked" } else { "failed" };
    let said = observation.output.as_deref().or(observation.error.as_deref()).unwrap_or_default();
    let input = clip(&observation.input.to_string(), LONGEST / 2);
    clip(&format!("{} {input} {came}: {}", observation.source, said.trim()), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize, success: bool) -> String {
        let (output, error) = if success { ("\"ok\"", "null") } else { ("null", "\"no such file\"") };
        format!(
            "{{\"type\":\"tool_execution\",\"source\":\"shell\",\"input\":{{\"command\":\"c{number}\"}},\
             \"output\":{output},\"success\":{success},\"error\":{error},\"executionTimeMs\":3}}"
        )
    }

    #[test]
    fn the_last_ones_are_told_in_order_and_anything_else_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        assert!(last_lines(folder.path()).is_empty());
        let mut lines: Vec<String> = (1..=20).map(|number| line(number, number != 20)).collect();
        lines.insert(19, "not an observation".to_owned());
        std::fs::write(folder.path().join(OBSERVATIONS_FILE), lines.join("\n")).unwrap();
        let told = last_lines(folder.path());
        assert_eq!(told.len(), MOST);
        assert_eq!(told[0], r#"shell {"command":"c9"} worked: ok"#);
        assert_eq!(told[MOST - 1], r#"shell {"command":"c20"} failed: no such file"#);
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("elsewhere"), line(1, true)).unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.path().join(OBSERVATIONS_FILE)).unwrap();
        assert!(last_lines(folder.path()).is_empty());
    }
}
