//! `make powercut`: a project's first run, its disk cut off at every boundary and at random instants; no acknowledged run
//! is lost, none is wedged. `powercut [INSTANTS] [STEP] [JOBS]`: random instants, every `STEP`-th boundary, `JOBS` disks at
//! once. Needs root and loop devices.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program's output is its report")]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use futures_util::StreamExt as _;
use tests::faults::argument;
use tests::powercut::{Instant, boundaries, cut};

/// The story takes about this long.
const STORY: u64 = 4_000;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let instants: u64 = std::env::args().nth(1).map_or(Ok(100), |number| number.parse())?;
    let (step, jobs) = (argument(2, 1)?, argument(3, 2)?);
    let boundaries = boundaries().await?;
    println!("{boundaries} boundaries, {instants} random instants");
    // Spread over the whole story, and never twice at the same one.
    let random = (0..instants).map(|n| Instant::After(Duration::from_millis((n * 2_654_435_761) % STORY)));
    let cuts: Vec<Instant> = (1..=boundaries).step_by(step).map(Instant::Boundary).chain(random).collect();
    let (mut acknowledged, mut by_itself, mut held, mut lost) = (0, 0, 0, 0);
    let played = futures_util::stream::iter(cuts.clone()).map(|instant| async move { (instant, cut(instant).await) });
    let mut played = std::pin::pin!(played.buffer_unordered(jobs));
    while let Some((instant, aftermath)) = played.next().await {
        match aftermath {
            Ok(after) => {
                acknowledged += u32::from(after.acknowledged);
                match (after.problem, after.held) {
                    (None, 0) => by_itself += 1,
                    (None, _) => {
                        held += 1;
                        eprintln!("HELD after a cut at {instant:?}");
                    }
                    (Some(problem), _) => {
                        lost += 1;
                        eprintln!("NOT RECOVERED after a cut at {instant:?}: {problem}");
                    }
                }
            }
            Err(error) => {
                lost += 1;
                eprintln!("NOT RECOVERED after a cut at {instant:?}: {error:#}");
            }
        }
    }
    let cuts = cuts.len();
    println!(
        "{cuts} cuts, {acknowledged} after the run was acknowledged: {by_itself} went on by themselves, {held} after \
         a retry, {lost} lost or wedged"
    );
    Ok(if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
