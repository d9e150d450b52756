//! Why a plan cannot be used: one variant per reason, each saying what is wrong, where, and what to do about it.

use super::Plan;

/// Why a plan cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Not JSON.
    #[error("line {line}, column {column} is not JSON: {problem}; send one JSON object and nothing else")]
    Syntax {
        /// Line in the text, from 1.
        line: usize,
        /// Column in that line, from 1.
        column: usize,
        /// What the reader of JSON says.
        problem: String,
    },
    /// A field that plans do not have.
    #[error("`{path}` is not a field of a plan; here there are {known}")]
    UnknownField {
        /// Where it stands.
        path: String,
        /// The fields there are.
        known: String,
    },
    /// A field that every plan has.
    #[error("`{path}` is missing; add it as {expected}")]
    MissingField {
        /// Where it should stand.
        path: String,
        /// What it looks like.
        expected: &'static str,
    },
    /// A value of another type.
    #[error("`{path}` is {found}; write {expected}")]
    WrongType {
        /// Where it stands.
        path: String,
        /// What is there.
        found: &'static str,
        /// What should be.
        expected: &'static str,
    },
    /// No tasks.
    #[error("the plan has no tasks; add at least one to `tasks`")]
    Empty,
    /// More tasks than one plan may have.
    #[error(
        "the plan has {count} tasks; at most {} fit in one plan, so join some or leave the rest to a later run",
        Plan::MAX_TASKS
    )]
    TooManyTasks {
        /// How many it has.
        count: usize,
    },
    /// More bytes than one plan may have.
    #[error("the plan has {bytes} bytes; at most {} fit, so shorten the descriptions", Plan::MAX_BYTES)]
    TooLarge {
        /// How many it has.
        bytes: usize,
    },
    /// An id that is none.
    #[error("`{path}` is `{id}`; an id has 1 to {} lower-case letters, digits, `-` or `_`", Plan::MAX_ID)]
    BadId {
        /// Where it stands.
        path: String,
        /// The start of it.
        id: String,
    },
    /// Two tasks of one id.
    #[error("`{first}` and `{second}` both have the id `{id}`; give each task its own")]
    DuplicateId {
        /// The id.
        id: String,
        /// Where it stands first.
        first: String,
        /// Where it stands again.
        second: String,
    },
    /// A title without a word.
    #[error("task `{task}` has no title; say in one line what it does")]
    EmptyTitle {
        /// Whose.
        task: String,
    },
    /// A title that is no line.
    #[error(
        "the title of task `{task}` has {chars} characters; at most {} fit, the rest belongs in `description`",
        Plan::MAX_TITLE
    )]
    LongTitle {
        /// Whose.
        task: String,
        /// How many it has.
        chars: usize,
    },
    /// A character that would act on a terminal instead of being shown.
    #[error("{place} has the control character U+{:04X}; remove it", *.character as u32)]
    ControlCharacter {
        /// In what.
        place: String,
        /// Which.
        character: char,
    },
    /// A description nobody reads.
    #[error(
        "the description of task `{task}` has {bytes} bytes; at most {} fit, so shorten it or split the task",
        Plan::MAX_DESCRIPTION
    )]
    LongDescription {
        /// Whose.
        task: String,
        /// How many it has.
        bytes: usize,
    },
    /// A dependency that is not there.
    #[error("task `{task}` depends on `{missing}`, which is not in the plan; there are {known}")]
    UnknownDependency {
        /// Whose.
        task: String,
        /// What is not there.
        missing: String,
        /// Ids there are.
        known: String,
    },
    /// A heading that is not there.
    #[error("task `{task}` stands below `{missing}`, which is not in the plan; there are {known}")]
    UnknownParent {
        /// Whose.
        task: String,
        /// What is not there.
        missing: String,
        /// Ids there are.
        known: String,
    },
    /// Waits for itself.
    #[error("task `{task}` depends on itself; remove `{task}` from its `dependsOn`")]
    SelfDependency {
        /// Which.
        task: String,
    },
    /// Waits for the whole it is part of.
    #[error(
        "task `{task}` depends on `{heading}`, which it stands below, so it would wait for itself; \
         remove the dependency"
    )]
    DependsOnHeading {
        /// Which.
        task: String,
        /// What it stands below.
        heading: String,
    },
    /// Waits for a part of itself.
    #[error("task `{task}` depends on `{below}`, which stands below it and is part of it; remove the dependency")]
    DependsOnTaskBelow {
        /// Which.
        task: String,
        /// The part.
        below: String,
    },
    /// Tasks that wait for each other.
    #[error("the dependencies go in a circle: {cycle}; remove one of them")]
    DependencyCycle {
        /// Written out, `a -> b -> a`, where `a` depends on `b`.
        cycle: String,
    },
    /// Tasks that wait for each other once what their headings wait for is counted.
    #[error(
        "with what their headings depend on, tasks wait for each other: {cycle}; \
         remove one of the dependencies, of these tasks or of the headings above them"
    )]
    HeadingCycle {
        /// Written out, `a -> b -> a`.
        cycle: String,
    },
    /// Tasks that stand below each other.
    #[error("the headings go in a circle: {cycle}; remove one `parent`")]
    ParentCycle {
        /// Written out, `a -> b -> a`, where `a` stands below `b`.
        cycle: String,
    },
    /// A check that checks nothing.
    #[error("`{path}` is empty; give the check a name and the command that runs it, or remove it")]
    EmptyCheck {
        /// Where it stands.
        path: String,
    },
    /// More checks than one task may have.
    #[error("task `{task}` has {count} checks; at most {} fit, so let one command run several", Plan::MAX_CHECKS)]
    TooManyChecks {
        /// Whose.
        task: String,
        /// How many it has.
        count: usize,
    },
    /// An expected file without a name.
    #[error("task `{task}` has an empty entry in `files`; name a path, a folder or a glob, or remove it")]
    EmptyPath {
        /// Whose.
        task: String,
    },
    /// An expected file outside of any repository.
    #[error(
        "task `{task}` expects to touch `{file}`; \
         write paths from the top of the repository, without `/`, `~` or a drive in front"
    )]
    AbsolutePath {
        /// Whose.
        task: String,
        /// The entry.
        file: String,
    },
    /// An expected file that climbs.
    #[error("task `{task}` expects to touch `{file}`; write the path without `..`")]
    ClimbingPath {
        /// Whose.
        task: String,
        /// The entry.
        file: String,
    },
    /// An expected file in another system's spelling.
    #[error("task `{task}` expects to touch `{file}`; separate folders by `/`, not by a backslash")]
    BackslashPath {
        /// Whose.
        task: String,
        /// The entry.
        file: String,
    },
    /// An expected file longer than paths are.
    #[error(
        "an entry in `files` of task `{task}` has {bytes} bytes; at most {} fit, so name the folder instead",
        Plan::MAX_PATH
    )]
    LongPath {
        /// Whose.
        task: String,
        /// How many it has.
        bytes: usize,
    },
    /// More expected files than can be compared.
    #[error("the tasks name {count} files in all; at most {} fit, so name folders or globs instead", Plan::MAX_FILES)]
    TooManyFiles {
        /// How many there are.
        count: usize,
    },
}

/// Whether a terminal obeys the character, or a reader sees the line in another order because of it.
pub(super) fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The start of a foreign text, safe to stand in a message.
pub(super) fn shown(text: &str) -> String {
    let mut start: String = text.chars().filter(|&character| !acts(character)).take(80).collect();
    if text.chars().nth(80).is_some() {
        start.push('…');
    }
    start
}

/// Some names, in backticks.
pub(super) fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let more = names.len().saturating_sub(SHOWN);
    let mut list = names.take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    list
}
