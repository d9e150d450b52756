//! Recorded transcripts: what real programs said, by program, and how a driver reads them.

use std::path::{Path, PathBuf};

use domain::AgentProgram;
use drivers::driver::{Act, Brief, Edits, Talk, start};

/// A transcript of a program.
pub(crate) struct Recorded {
    pub(crate) program: AgentProgram,
    pub(crate) path: PathBuf,
    pub(crate) lines: Vec<String>,
    /// The conversation that goes on in it, of those whose name says `resumed`.
    pub(crate) resume: Option<String>,
}

/// All that there are: `tests/transcripts/PROGRAM/NAME.jsonl`.
pub(crate) fn transcripts() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut all = Vec::new();
    for folder in std::fs::read_dir(root).unwrap().map(Result::unwrap) {
        let program: AgentProgram = match folder.file_name().to_str().unwrap() {
            "acp" => AgentProgram::Acp("agent".to_owned()),
            "command" => AgentProgram::Command("agent".to_owned()),
            name => name.parse().unwrap(),
        };
        for file in std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(&file).unwrap();
                let lines = text.lines().map(str::to_owned).collect();
                let resumed = file.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("resumed"));
                let resume = resumed.then(|| "an-earlier-one".to_owned());
                all.push(Recorded { program: program.clone(), path: file, lines, resume });
            }
        }
    }
    all.sort_by(|one, other| one.path.cmp(&other.path));
    all
}

pub(crate) fn brief(resume: Option<String>) -> Brief {
    Brief {
        prompt: "Leave a note".to_owned(),
        model: "scripted/demo".to_owned(),
        broker: "http://127.0.0.1:4000".to_owned(),
        home: "/home/ada/session".to_owned(),
        workspace: "/home/ada/workspace".to_owned(),
        tools: ["holdpoint", "agent", "relay"].map(str::to_owned).to_vec(),
        resume,
        turns: 0,
        protected: vec!["deploy/".to_owned(), "*.lock".to_owned()],
        edits: Edits::Kept,
        way: drivers::Way::Broker,
    }
}

/// Everything a driver makes of some lines, each a tenth of a second after the one before.
pub(crate) fn read<'a>(recorded: &Recorded, lines: impl IntoIterator<Item = &'a str>) -> (Vec<Act>, Talk) {
    let (_, mut talk) = start(&recorded.program, &brief(recorded.resume.clone())).unwrap();
    let mut acts = Vec::new();
    for (number, line) in lines.into_iter().enumerate() {
        acts.extend(talk.line(line, 100 * number as u64));
    }
    acts.extend(talk.end().map(Act::Over));
    (acts, talk)
}
