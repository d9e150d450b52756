//! What an agent may not touch any more once text of strangers was read. The job says what earlier processes of the run
//! have read; this remembers what the process itself reads, and the next one is told by its job.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use domain::Reach;
use drivers::Job;

/// What was read, and what follows.
#[derive(Debug)]
pub(crate) struct Strangers {
    reach: Reach,
    /// How the names of tools begin that bring such text in.
    strange: Vec<String>,
    /// How the names of tools begin behind which secrets are.
    secret: Vec<String>,
    read: Mutex<BTreeSet<String>>,
}

impl Strangers {
    pub(crate) fn new(job: &Job) -> Self {
        let (strange, secret) = (job.strange_tools.clone(), job.secret_tools.clone());
        Self { reach: job.reach, strange, secret, read: Mutex::default() }
    }

    /// A tool is about to be used.
    pub(crate) fn reads(&self, tool: &str) {
        if let Some(from) = self.strange.iter().find(|begins| tool.starts_with(begins.as_str())) {
            self.known().insert(from.clone());
        }
    }

    /// Whether nothing that holds secrets is given out any more, whatever a person says.
    pub(crate) fn refuse_secrets(&self) -> bool {
        self.reach >= Reach::NoSecrets || !self.known().is_empty()
    }

    /// Whether nothing but the models may be reached.
    pub(crate) fn refuse_the_web(&self) -> bool {
        self.reach >= Reach::ModelsOnly
    }

    /// Why a tool with secrets behind it is not used: something else was read since it was offered.
    pub(crate) fn against(&self, tool: &str) -> Option<String> {
        let behind = self.secret.iter().find(|begins| tool.starts_with(begins.as_str()))?;
        self.known().iter().any(|from| from != behind).then(|| {
            format!("`{tool}` is not used any more: text of strangers was read, and there are secrets behind it")
        })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        // A set that a panic left behind is still a set.
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is said about a secret that is not given out.
pub(crate) fn refused(what: &str) -> String {
    format!(
        "not allowed: {what}, and this run has read text of strangers. Nobody can allow it in this run; go on without it"
    )
}

#[cfg(test)]
mod tests {
    use drivers::JobKind;

    use super::*;

    fn job(reach: Reach) -> Job {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Job {
            reach,
            strange_tools: words(&["web_code_search", "mcp__docs__"]),
            secret_tools: words(&["mcp__docs__", "mcp__tracker__"]),
            ..crate::prompt::tests::job(JobKind::Code)
        }
    }

    #[test]
    fn what_this_process_reads_counts_from_then_on() {
        let strangers = Strangers::new(&job(Reach::Whole));
        strangers.reads("read_file");
        assert!(!strangers.refuse_secrets() && strangers.against("mcp__tracker__get").is_none());
        strangers.reads("mcp__docs__find");
        assert!(strangers.refuse_secrets() && !strangers.refuse_the_web());
        assert!(strangers.against("mcp__tracker__get").is_some());
        assert!(strangers.against("mcp__docs__find").is_none(), "it may go on with what it reads itself");
        strangers.reads("web_code_search");
        assert!(strangers.against("mcp__docs__find").is_some());
        assert!(strangers.against("shell").is_none());
    }

    #[test]
    fn what_the_run_has_read_counts_from_the_start() {
        let refused = |reach| {
            let strangers = Strangers::new(&job(reach));
            (strangers.refuse_secrets(), strangers.refuse_the_web())
        };
        assert_eq!(refused(Reach::Whole), (false, false));
        assert_eq!(refused(Reach::NoSecrets), (true, false));
        assert_eq!(refused(Reach::ModelsOnly), (true, true));
    }
}
