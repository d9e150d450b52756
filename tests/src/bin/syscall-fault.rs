//! Starts a program of which one system call fails: `syscall-fault FOLDER LOG NUMBER FAILURE PROGRAM [ARGUMENT…]`. Calls on
//! files below the folder are counted and logged; the one of this number fails (0: none does).

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context as _, Result};
use tests::syscalls::{Failure, Plan, become_supervised, supervise};

fn main() -> Result<()> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let supervises = arguments.first().is_some_and(|first| first == "--supervise");
    let plan = &arguments[usize::from(supervises)..];
    if supervises {
        return supervise(&read(plan)?);
    }
    read(plan)?;
    let [_, _, _, _, program, rest @ ..] = plan else {
        anyhow::bail!("syscall-fault FOLDER LOG NUMBER FAILURE PROGRAM [ARGUMENT…]")
    };
    let mut supervisor = Command::new(std::env::current_exe()?);
    supervisor.arg("--supervise").args(&plan[..4]);
    become_supervised(supervisor, program, rest)
}

fn read(arguments: &[OsString]) -> Result<Plan> {
    let text = |at: usize| arguments.get(at).and_then(|text| text.to_str()).context("an argument is missing");
    let number: u64 = text(2)?.parse()?;
    let failure = Failure::parse(text(3)?)?;
    let fails = (number > 0).then_some((number, failure));
    Ok(Plan { below: text(0)?.into(), log: text(1)?.into(), fails })
}
