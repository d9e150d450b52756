//! Secrets in the work, in what is pushed and in answers: who is asked, and what follows.

use domain::{
    AgentEnd, Decision, DecisionKind, Effect, Event, HoldKind, NoteKind, Outcome, Phase, Question, Recorded,
    SECRET_ANSWER, check_log,
};
use testkit::{History, samples};

use crate::kit::{agent, begin, end, good, good_until_held, held, keeps_every_rule, open, until, yes};

/// An implementer that handed in code with a token in it.
fn blocked() -> History {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "implementation");
    let findings = vec![samples::finding("src/login.rs"), samples::finding("src/other.rs")];
    let outcome = AgentEnd::HoldsSecrets { findings };
    end(&mut history, Outcome::AgentEnded { end: outcome, tier: None, program: None, wip: Some(samples::commit(77)) });
    history
}

fn artifacts(history: &History) -> usize {
    history.run.artifacts.iter().filter(|made| made.kind.is_code()).count()
}

#[test]
fn work_with_secrets_in_it_waits_for_a_yes_to_exactly_these_and_goes_on_with_it() {
    let mut history = blocked();
    assert_eq!(
        held(&history),
        (HoldKind::Permission, vec![DecisionKind::Approve, DecisionKind::Reject, DecisionKind::Cancel])
    );
    let hold = history.run.hold().unwrap().clone();
    assert!(hold.summary.contains("src/login.rs:3: GitHub token (ghp_…, 40 characters)"), "{}", hold.summary);
    assert_eq!((artifacts(&history), hold.findings.len()), (0, 2));
    let notes = history.run.notes.len();
    history.decide("ada", Decision::Approve { notes: Some("it is a test key".to_owned()) }).unwrap();
    assert_eq!(open(&history), ["run_agent"]);
    assert_eq!(history.run.notes.len(), notes, "nothing new is said to the agent, so what it handed in is taken");
    let allowed: Vec<&String> = history.run.allowed_secrets.iter().collect();
    let mut shown: Vec<&String> = hold.findings.iter().map(|finding| &finding.fingerprint).collect();
    shown.sort();
    assert_eq!(allowed, shown);
    good_until_held(&mut history);
    assert_eq!(artifacts(&history), 1);
    keeps_every_rule(&history);
}

#[test]
fn work_that_is_sent_back_for_its_secrets_goes_on_from_where_it_stands_with_the_places() {
    let mut history = blocked();
    history.decide("ada", Decision::Reject { feedback: "read it from the environment".to_owned() }).unwrap();
    let note = history.run.notes.last().unwrap();
    assert_eq!((note.kind, note.stage.as_str()), (NoteKind::Feedback, "implementation"));
    let said = ["src/login.rs:3", "src/other.rs:3", "read it from the environment"];
    assert!(said.iter().all(|part| note.text.contains(part)), "{}", note.text);
    assert!(history.run.allowed_secrets.is_empty());
    let (_, task) = history.run.agent().unwrap();
    assert_eq!(task.at, samples::commit(77), "its files are as it left them");
    assert_eq!(task.session.attempt, 2, "in the same conversation");
    good_until_held(&mut history);
    keeps_every_rule(&history);
}

#[test]
fn what_is_to_be_pushed_waits_too_and_is_pushed_as_it_is_after_a_yes() {
    let mut config = samples::config();
    (config.git.auto_merge, config.git.push) = (false, true);
    let mut history = begin("autonomous", config);
    while open(&history) != ["push_remote"] {
        good(&mut history);
    }
    end(&mut history, Outcome::SecretsFound { findings: vec![samples::finding("src/login.rs")] });
    assert_eq!(held(&history), (HoldKind::Permission, vec![DecisionKind::Approve, DecisionKind::Cancel]));
    assert!(history.run.hold().unwrap().summary.contains("what is to be pushed"));
    yes(&mut history);
    assert_eq!(open(&history), ["push_remote"]);
    good_until_held(&mut history);
    assert!(matches!(history.run.phase, Phase::Ended { .. }));
    keeps_every_rule(&history);
}

#[test]
fn what_is_to_be_merged_waits_too_and_is_merged_as_it_is_after_a_yes() {
    let mut history = begin("autonomous", samples::config());
    while open(&history) != ["land"] {
        good(&mut history);
    }
    let land = history.run.open_effects.values().next().unwrap().clone();
    end(&mut history, Outcome::SecretsFound { findings: vec![samples::finding("src/login.rs")] });
    assert_eq!(held(&history), (HoldKind::Permission, vec![DecisionKind::Approve, DecisionKind::Cancel]));
    let hold = history.run.hold().unwrap();
    assert!(hold.summary.contains("what is to be merged") && hold.summary.contains("merge exactly these"));
    let mut unasked = history.log.clone();
    let last = unasked.last().unwrap();
    unasked.push(Recorded {
        sequence: last.sequence + 1,
        at: last.at,
        event: Event::EffectRequested { number: history.run.effects_requested + 1, effect: land },
    });
    assert!(check_log(&history.run.id, &unasked).iter().any(|broken| broken.rule == 24));
    yes(&mut history);
    assert_eq!(open(&history), ["land"]);
    good_until_held(&mut history);
    assert!(matches!(history.run.phase, Phase::Ended { .. }));
    keeps_every_rule(&history);
}

#[test]
fn a_log_in_which_such_work_is_committed_or_pushed_unasked_breaks_rule_24() {
    let history = blocked();
    let mut log = history.log.clone();
    let artifact = samples::artifact(domain::ArtifactKind::Code, "implementation", 1, 9);
    let last = log.last().unwrap();
    log.push(Recorded {
        sequence: last.sequence + 1,
        at: last.at,
        event: Event::ArtifactCreated { artifact, decisions: Vec::new() },
    });
    assert!(check_log(&history.run.id, &log).iter().any(|broken| broken.rule == 24));

    let mut config = samples::config();
    (config.git.auto_merge, config.git.push) = (false, true);
    let mut history = begin("autonomous", config);
    while open(&history) != ["push_remote"] {
        good(&mut history);
    }
    let push = history.run.open_effects.values().next().unwrap().clone();
    end(&mut history, Outcome::SecretsFound { findings: vec![samples::finding("src/login.rs")] });
    let mut log = history.log.clone();
    let last = log.last().unwrap();
    let number = history.run.effects_requested + 1;
    log.push(Recorded {
        sequence: last.sequence + 1,
        at: last.at,
        event: Event::EffectRequested { number, effect: push },
    });
    assert!(check_log(&history.run.id, &log).iter().any(|broken| broken.rule == 24));
}

/// A planner that asks, and what was answered.
fn asked(question: Question, answer: &str) -> History {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    agent(&mut history, AgentEnd::Asked { questions: vec![question] });
    history.decide("ada", Decision::Answer { answer: vec![answer.to_owned()] }).unwrap();
    history
}

fn told(history: &History) -> String {
    let told = history.log.iter().map(|recorded| serde_json::to_string(&recorded.event.without_secrets()).unwrap());
    told.collect()
}

#[test]
fn a_secret_answer_is_for_who_asked_and_is_shown_nowhere() {
    let question = Question { secret: true, ..samples::question("Which password?") };
    let history = asked(question, "correct horse battery");
    let answer = history.run.answers.last().unwrap();
    assert_eq!(answer.answer, Some(vec!["correct horse battery".to_owned()]));
    assert!(answer.question.secret);
    assert_eq!(history.run.secret_answers, ["correct horse battery"]);
    assert!(!told(&history).contains("correct horse") && told(&history).contains(SECRET_ANSWER));
    assert!(matches!(history.run.open_effects.values().next(), Some(Effect::RunAgent(_))));
    keeps_every_rule(&history);
}

#[test]
fn an_answer_that_looks_like_a_secret_is_one_and_a_plain_one_is_not() {
    let token = ["gh", "p_q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3u"].concat();
    let history = asked(samples::question("Which token?"), &token);
    assert!(history.run.answers.last().unwrap().question.secret && !told(&history).contains(&token));
    let history = asked(samples::question("Which provider?"), "Google");
    assert!(!history.run.answers.last().unwrap().question.secret && told(&history).contains("Google"));
    assert_eq!(history.run.secret_answers, Vec::<String>::new());
}

#[test]
fn one_word_on_several_questions_is_a_secret_where_one_of_them_wants_one() {
    let mut config = samples::config();
    config.max_clarifications = 0;
    let mut history = begin("autonomous", config);
    until(&mut history, "planning");
    let secret = Question { secret: true, ..samples::question("Which password?") };
    agent(&mut history, AgentEnd::Asked { questions: vec![samples::question("Which host?"), secret] });
    assert_eq!(held(&history).0, HoldKind::Approval);
    history.decide("ada", Decision::Approve { notes: Some("correct horse battery".to_owned()) }).unwrap();
    assert!(!told(&history).contains("correct horse"));
    assert_eq!(history.run.secret_answers, ["correct horse battery"]);
}
