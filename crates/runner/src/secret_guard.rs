//! What stands between the run and everything it writes down or sends: knows the secrets of this server and of the run,
//! looks for them in code, and takes them and this machine's paths out of Holdpoint's own texts.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use domain::{KnownSecret, Run, SecretFinding, SecretScanner, replay};
use engine::Store;
use serde_json::Value;

use crate::git::{CommitId, GitError, PrivateRepo, TreeId, shown};
use crate::paths::Paths;
use crate::server_secrets::ServerSecrets;
use crate::trouble::Trouble;

/// The guard of one run.
#[derive(Clone)]
pub(crate) struct SecretGuard {
    scanner: SecretScanner,
    allowed: BTreeSet<String>,
    places: Vec<(String, &'static str)>,
}

impl SecretGuard {
    pub(crate) fn of(secrets: &ServerSecrets, paths: &Paths, run: &Run) -> Self {
        let answers = run.secret_answers.iter().filter_map(|answer| KnownSecret::new("a secret answer", answer));
        let answers: Vec<KnownSecret> = answers.collect();
        secrets.add_answers(&answers);
        let mut known = secrets.known();
        known.extend(answers);
        Self {
            scanner: SecretScanner::knowing(&known),
            allowed: run.allowed_secrets.clone(),
            places: places(paths, run),
        }
    }

    /// A text without the secrets in it.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        self.scanner.redact(text)
    }

    /// The same for the end of a text, which begins in what was skipped; see [`SecretScanner::redact_after`].
    pub(crate) fn without_secrets_after(&self, text: &str, skipped: usize) -> String {
        self.scanner.redact_after(text, skipped)
    }

    /// A text of Holdpoint's own: without secrets, and without this machine's paths.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = self.scanner.redact(text);
        for (place, name) in &self.places {
            text = replace_path(&text, place, name);
        }
        text
    }

    /// What a run says of itself in the project's memory; a text is redacted before it is cut.
    pub(crate) fn redact_run(&self, run: &Run) -> Run {
        let mut run = run.clone();
        for note in &mut run.decisions {
            for text in [&mut note.topic, &mut note.choice, &mut note.rationale] {
                *text = self.redact(text);
            }
        }
        for answer in &mut run.answers {
            answer.question.question = self.redact(&answer.question.question);
            answer.answer.iter_mut().flatten().for_each(|said| *said = self.redact(said));
        }
        run
    }

    /// The same for every text of a value.
    pub(crate) fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact_value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The same for JSON: one value, or one on each line.
    pub(crate) fn redact_json(&self, text: &str) -> String {
        let whole = serde_json::from_str::<Value>(text).map(|mut value| {
            self.redact_value(&mut value);
            format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
        });
        let line = |line: &str| match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                self.redact_value(&mut value);
                format!("{value}\n")
            }
            Err(_) => format!("{}\n", self.redact(line)),
        };
        whole.unwrap_or_else(|_| text.lines().map(line).collect())
    }

    /// The same for the lines that a text has and the one before it had not.
    pub(crate) fn redact_added(&self, before: Option<&str>, after: &str) -> String {
        let known: BTreeSet<&str> = before.unwrap_or_default().lines().collect();
        let line = |line: &str| {
            if known.contains(line.trim_end_matches('\n')) { line.to_owned() } else { self.redact(line) }
        };
        after.split_inclusive('\n').map(line).collect()
    }

    /// What a tree adds to a commit that looks like a secret and was not allowed. What stood in the files before, or
    /// moved from one to another, is not added.
    pub(crate) fn in_tree(
        &self,
        private: &PrivateRepo,
        before: &CommitId,
        tree: &TreeId,
    ) -> Result<Vec<SecretFinding>, GitError> {
        let mut findings = Vec::new();
        private.each_new_in_tree(before, tree, |new| findings.extend(self.scan(&new.path, &new.bytes)))?;
        if !findings.is_empty() {
            let mut old = BTreeSet::new();
            private.each_replaced(before, tree, |gone| {
                old.extend(self.scanner.scan(&gone.path, &gone.bytes).into_iter().map(|finding| finding.fingerprint));
            })?;
            findings.retain(|finding| !old.contains(&finding.fingerprint));
        }
        findings.extend(self.in_names(private, before, &private.new_names_in_tree(before, tree)?)?);
        Ok(findings)
    }

    /// The same for everything that the commits after `base` hold, their messages included.
    pub(crate) fn in_range(
        &self,
        private: &PrivateRepo,
        base: &CommitId,
        tip: &CommitId,
    ) -> Result<Vec<SecretFinding>, GitError> {
        let mut findings = Vec::new();
        private.each_new_in_range(base, tip, |new| {
            findings.extend(self.scan(&new.path, &new.bytes).map(|finding| (new.path.clone(), finding)));
        })?;
        let mut seen = BTreeSet::new();
        findings.retain(|(path, finding)| seen.insert((path.clone(), finding.fingerprint.clone())));
        let paths: BTreeSet<&String> = findings.iter().map(|(path, _)| path).collect();
        let mut old = BTreeSet::new();
        for path in paths {
            // A name that is not plain is in no file of the base that could be asked for.
            let Ok(Some(bytes)) = private.read_file(base, path) else { continue };
            old.extend(self.scanner.scan(path, &bytes).into_iter().map(|finding| finding.fingerprint));
        }
        let mut findings: Vec<SecretFinding> = findings.into_iter().map(|(_, finding)| finding).collect();
        for (commit, message) in private.messages(base, tip)? {
            let short: String = commit.chars().take(10).collect();
            findings.extend(self.scan(&format!("message of {short}"), message.as_bytes()));
        }
        findings.retain(|finding| !old.contains(&finding.fingerprint));
        findings.extend(self.in_names(private, base, &private.new_names_in_range(base, tip)?)?);
        Ok(findings)
    }

    /// The same for names of files and folders, once for each secret; what is in a name of `before` too is not new.
    fn in_names(
        &self,
        private: &PrivateRepo,
        before: &CommitId,
        names: &[Vec<u8>],
    ) -> Result<Vec<SecretFinding>, GitError> {
        let mut findings: Vec<SecretFinding> = Vec::new();
        for name in names {
            let path = || format!("name of {}", shown(self.scanner.redact(&String::from_utf8_lossy(name)).as_bytes()));
            findings.extend(self.scan("", name).map(|finding| SecretFinding { path: path(), ..finding }));
        }
        if findings.is_empty() {
            return Ok(findings);
        }
        let of_name = |name: &Vec<u8>| self.scanner.scan("", name).into_iter().map(|finding| finding.fingerprint);
        let mut known: BTreeSet<String> = private.names(before)?.iter().flat_map(of_name).collect();
        findings.retain(|finding| known.insert(finding.fingerprint.clone()));
        Ok(findings)
    }

    fn scan(&self, path: &str, bytes: &[u8]) -> impl Iterator<Item = SecretFinding> {
        let findings = self.scanner.scan(path, bytes);
        findings.into_iter().filter(|finding| !self.allowed.contains(&finding.fingerprint))
    }
}

/// What makes guards, on any thread.
#[derive(Clone)]
pub(crate) struct Guards {
    pub(crate) secrets: ServerSecrets,
    pub(crate) paths: Paths,
    pub(crate) store: Arc<dyn Store>,
}

impl Guards {
    pub(crate) fn of(&self, run: &Run) -> SecretGuard {
        SecretGuard::of(&self.secrets, &self.paths, run)
    }

    /// For what leaves: also with what people said in the runs that worked on this one's tasks, whose commits are on its
    /// branch.
    pub(crate) fn with_tasks(&self, run: &Run) -> Result<SecretGuard, Trouble> {
        let mut whole = run.clone();
        for child in run.tasks.iter().filter_map(|task| task.child.as_ref()) {
            let log = self.store.events(child, 0).map_err(|error| Trouble::of(&error))?;
            let child = replay(child.clone(), log);
            whole.allowed_secrets.extend(child.allowed_secrets);
            whole.secret_answers.extend(child.secret_answers);
        }
        Ok(self.of(&whole))
    }
}

/// This machine's folders and what stands in their place, the longest first.
fn places(paths: &Paths, run: &Run) -> Vec<(String, &'static str)> {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let workspace = paths.workspace(&run.id);
    let named = [
        (Some(workspace.as_path()), "<workspace>"),
        (Some(Path::new(&run.opened().project)), "<project>"),
        (Some(paths.home()), "<data>"),
        (home.as_deref(), "<home>"),
    ];
    let mut places = Vec::new();
    for (path, name) in named.into_iter().filter_map(|(path, name)| path.map(|path| (path, name))) {
        // A folder behind a link has two names.
        let real = path.canonicalize().ok();
        for path in [Some(path), real.as_deref()].into_iter().flatten() {
            let text = path.display().to_string();
            let text = text.trim_end_matches('/');
            if text.starts_with('/') && text.len() > 1 {
                places.push((text.to_owned(), name));
            }
        }
    }
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
    places.dedup();
    places
}

/// Replaces a folder's path, not the beginning of another one's name.
fn replace_path(text: &str, place: &str, name: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(place) {
        let (before, found) = rest.split_at(at);
        let after = &found[place.len()..];
        let goes_on = after.starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '-');
        let begins = before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '-' | '.'));
        replaced.push_str(before);
        replaced.push_str(if goes_on || begins { place } else { name });
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_and_another_that_begins_like_it_is_not() {
        let check = |text: &str| replace_path(text, "/home/ada", "<home>");
        assert_eq!(check("in /home/ada/x and `/home/ada`."), "in <home>/x and `<home>`.");
        assert_eq!(check("/home/adam /home/ada-2 /srv/home/ada"), "/home/adam /home/ada-2 /srv/home/ada");
        assert_eq!(check("file:///home/ada/x"), "file://<home>/x");
    }
}
