//! Shows one notice on the user's own screen, by a program that is called like `notify-send`. The texts are arguments,
//! never part of a shell's line, and stand behind `--`.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use wire::Notice;

use super::Desktop;
use super::notice::one_line;

/// Shows it.
pub(super) async fn show(desktop: &Desktop, notice: &Notice, patience: Duration) -> Result<(), String> {
    let (title, text) = words(notice);
    let mut command = Command::new(&desktop.program);
    command.args(["--app-name=Holdpoint", "--category=im.received"]);
    if desktop.sound {
        command.arg("--hint=string:sound-name:message-new-instant");
    }
    command.args(["--", &title, &text]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("`{}` cannot be started: {error}", desktop.program))?;
    match tokio::time::timeout(patience, child.wait()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("`{}` ended with {status}", desktop.program)),
        Ok(Err(error)) => Err(format!("`{}` cannot be waited for: {error}", desktop.program)),
        Err(_) => Err(format!("`{}` took too long", desktop.program)),
    }
}

/// Title and text. Some desktops read markup: what could begin it is written out.
fn words(notice: &Notice) -> (String, String) {
    let what = match notice.event.as_str() {
        "hold.placed" => "A run waits for you",
        "budget.asked" => "A run asks for money",
        "run.completed" => "A run is done",
        "run.failed" => "A run failed",
        "run.cancelled" => "A run was cancelled",
        _ => "Holdpoint can reach you",
    };
    let run = notice.run.as_ref().map(|run| one_line(&run.request));
    let why = notice.hold.as_ref().map(|hold| hold.summary.as_str()).or(notice.failure.as_deref()).map(one_line);
    let lines: Vec<String> = [run, why].into_iter().flatten().filter(|line| !line.is_empty()).collect();
    (what.to_owned(), lines.join("\n").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{NoticeHold, NoticeRun};

    #[test]
    fn hostile_texts_are_shown_as_what_they_are() {
        let run = NoticeRun {
            id: "a".to_owned(),
            project: "/p".to_owned(),
            request: "<b>do</b> \u{1b}]0;evil\u{7}it\u{202e}\nsecond".to_owned(),
            playbook: "autonomous".to_owned(),
        };
        let hold = NoticeHold {
            id: "a.1".to_owned(),
            kind: "approval".to_owned(),
            summary: "look \u{9b}2J & say".to_owned(),
            allowed: Vec::new(),
        };
        let notice = Notice {
            id: "a.1".to_owned(),
            event: "hold.placed".to_owned(),
            at: jiff::Timestamp::UNIX_EPOCH,
            position: 1,
            run: Some(run),
            hold: Some(hold),
            failure: None,
            link: String::new(),
        };
        let (title, text) = words(&notice);
        assert_eq!(title, "A run waits for you");
        assert_eq!(text, "&lt;b&gt;do&lt;/b&gt; \u{fffd}]0;evil\u{fffd}it\u{fffd}\nlook \u{fffd}2J &amp; say");
    }
}
