//! What a run gives its child to begin with, and what the child tells it at the end.

use crate::{
    Actor, Brought, Check, ChildReport, ChildTask, Ending, GitPolicy, Note, NoteKind, Parent, Phase, Run, RunConfig,
    Stage, Start, Task, TaskState, Work,
};

/// The longest part of the parent's request that a child is told.
const MOST_OF_PARENT: usize = 8 * 1024;

impl Run {
    /// How the child run of a task begins; `None` when there is no such task.
    #[must_use]
    pub fn child_start(&self, child: &ChildTask) -> Option<Start> {
        let opened = self.opened();
        let (number, state) = self
            .tasks
            .iter()
            .zip(1..)
            .find_map(|(state, number)| (state.task.id == child.task).then_some((number, state)))?;
        let wanted = opened.playbook.stages.iter().find_map(|stage| match &stage.work {
            Work::Delegate { playbook, .. } => Some(playbook),
            Work::Converse { .. }
            | Work::Produce { .. }
            | Work::Judge { .. }
            | Work::Prove { .. }
            | Work::Pursue { .. } => None,
        })?;
        Some(Start {
            project: opened.project.clone(),
            request: self.child_request(&state.task, child),
            playbook: opened.playbook.child(wanted)?.clone(),
            config: self.child_config(state, child),
            by: Actor { name: opened.by.name.clone(), channel: format!("run {}", self.id.short()) },
            parent: Some(Parent {
                run: self.id.clone(),
                branch: opened.branch.clone(),
                task: child.task.clone(),
                number,
                attempt: child.attempt,
                at: child.at.clone(),
                resolve: child.resolve.clone(),
                problem: child.problem.clone(),
            }),
        })
    }

    fn child_request(&self, task: &Task, child: &ChildTask) -> String {
        let mut text = format!("{}\n\n{}\n", task.title, task.description);
        if !task.files.is_empty() {
            text.push_str(&format!("\nFiles it is expected to touch: {}\n", task.files.join(", ")));
        }
        for said in self.said_of_tasks() {
            text.push_str(&format!("\n{} said of all tasks: {}\n", said.by, clip(&said.text, MOST_OF_PARENT)));
        }
        if !child.resolve.is_empty() {
            text.push_str(&format!(
                "\nThe work for this task is done, but it conflicts with what others merged meanwhile. The workspace \
                 holds both versions between conflict markers in: {}. Resolve them so that both intentions hold, and \
                 leave no marker.\n",
                child.resolve.join(", ")
            ));
        } else if let Some(problem) = &child.problem {
            text.push_str(&format!("\nAn earlier try failed: {}\n", clip(problem, MOST_OF_PARENT)));
        }
        let wanted = self.wanted();
        let whole = clip(&wanted, MOST_OF_PARENT);
        text.push_str(&format!(
            "\nThis is one task of a larger request; do only this task. The whole request:\n{whole}\n"
        ));
        let text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
        clip(&text, Start::MAX_REQUEST).to_owned()
    }

    /// What people said of the tasks when they let them begin.
    fn said_of_tasks(&self) -> impl Iterator<Item = &Note> {
        let delegates = |stage: &&Stage| matches!(stage.work, Work::Delegate { .. });
        let stage = self.opened().playbook.stages.iter().find(delegates).map(|stage| stage.name.as_str());
        self.notes.iter().filter(move |note| {
            matches!(note.kind, NoteKind::Approval | NoteKind::Guidance) && Some(note.stage.as_str()) == stage
        })
    }

    fn child_config(&self, state: &TaskState, child: &ChildTask) -> RunConfig {
        let config = &self.opened().config;
        let mut models = config.models.clone();
        models.extend(self.models.clone());
        let checks: Vec<Check> = config.checks.iter().chain(&state.task.checks).cloned().collect();
        let base_branch = config.git.base_branch.clone();
        RunConfig {
            models,
            checks,
            budget: child.budget,
            git: GitPolicy {
                base_branch,
                auto_merge: false,
                push: false,
                ask_push: false,
                create_pr: false,
                review: false,
            },
            group: None,
            task: None,
            // The text itself went into the plan.
            from: self.taints.iter().map(|taint| Brought { source: taint.source.clone(), text: None }).collect(),
            ..config.clone()
        }
    }

    /// What an ended child tells its parent; `None` for a run that is no child or has not ended.
    #[must_use]
    pub fn child_report(&self) -> Option<ChildReport> {
        let parent = self.opened().parent.as_ref()?;
        let Phase::Ended { ending } = self.phase else { return None };
        let mut files: Vec<String> =
            self.artifacts.iter().filter(|made| made.kind.is_code()).flat_map(|made| made.files.clone()).collect();
        files.sort();
        files.dedup();
        Some(ChildReport {
            task: parent.task.clone(),
            child: self.id.clone(),
            ending,
            commit: self.head.clone().filter(|_| ending == Ending::Completed),
            files,
            cost: self.cost(),
            problem: self.failure.clone(),
            taints: self.taints.iter().map(|taint| taint.source.clone()).collect(),
        })
    }
}

/// The beginning of a text, cut at a character.
fn clip(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
