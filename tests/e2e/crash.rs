//! A sample of the crash suite; `make crash` walks through every boundary.

use tests::scenario::{Scenario, tell};

/// Kills at a few boundaries spread over the story and compares with the telling that was not killed.
async fn check(scenario: Scenario, samples: usize) {
    let reference = tell(scenario, None).await.unwrap();
    assert_eq!(reference.kills, 0);
    let boundaries = reference.boundaries.len();
    assert!(boundaries > samples, "only {boundaries} boundaries");
    for sample in 1..=samples {
        let kill_at = u64::try_from(boundaries * sample / (samples + 1)).unwrap();
        let told = tell(scenario, Some(kill_at)).await.unwrap();
        let name = &reference.boundaries[usize::try_from(kill_at - 1).unwrap()];
        assert!(told.kills > 0, "boundary {kill_at} ({name}) was not reached");
        assert_eq!(told.picture, reference.picture, "{} killed at {name}", scenario.name());
    }
}

#[tokio::test]
async fn a_run_nobody_is_asked_about_survives_kills() {
    check(Scenario::Auto, 4).await;
}

#[tokio::test]
async fn a_run_with_an_approval_survives_kills() {
    check(Scenario::ManualApproval, 3).await;
}

#[tokio::test]
async fn a_run_with_a_question_survives_kills() {
    check(Scenario::Clarification, 3).await;
}

#[tokio::test]
async fn a_run_with_a_fix_round_survives_kills() {
    check(Scenario::ValidationRetry, 3).await;
}

#[tokio::test]
async fn a_cancelled_run_survives_kills() {
    check(Scenario::Cancel, 3).await;
}

#[tokio::test]
async fn a_run_of_several_agents_survives_kills() {
    check(Scenario::Team, 4).await;
}
