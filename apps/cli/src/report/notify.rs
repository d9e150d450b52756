//! `notify`: destinations and deliveries, for people.

use jiff::Timestamp;
use wire::{DeliveryView, DestinationView};

use super::clean::clean;
use super::words::ago;

/// `notify list`.
pub(crate) fn destinations(all: &[DestinationView], now: Timestamp) -> String {
    if all.is_empty() {
        return "Nobody is told of anything. Name a destination under [notify] in config.toml: docs/notifications.md."
            .to_owned();
    }
    all.iter().map(|one| destination(one, now)).collect::<Vec<_>>().join("\n")
}

fn destination(one: &DestinationView, now: Timestamp) -> String {
    let mut lines = vec![format!("{}  {} {}", clean(&one.name), one.kind, clean(&one.to))];
    lines.push(format!("  told of {}", one.events.join(", ")));
    match one.recent.first() {
        None => lines.push("  nothing was told yet".to_owned()),
        Some(last) => {
            let at = last.ended_at.unwrap_or(last.created_at);
            lines.push(format!("  last: {} {}, {}", clean(&last.event), last.state, ago(now, at)));
        }
    }
    if one.waiting > 0 {
        lines.push(format!("  {} wait for another try", one.waiting));
    }
    if one.dead > 0 {
        lines.push(format!("  {} given up; `holdpoint notify retry {}` tries again", one.dead, clean(&one.name)));
    }
    let problem = one.recent.iter().find_map(|delivery| delivery.problem.as_deref());
    lines.extend(problem.map(|problem| format!("  what went wrong last: {}", clean(problem))));
    lines.join("\n")
}

/// `notify test`.
pub(crate) fn tested(name: &str, delivery: &DeliveryView) -> String {
    match &delivery.problem {
        None => format!("{}  {} ({})", clean(name), delivery.state, clean(&delivery.id)),
        Some(problem) => format!("{}  not delivered: {}", clean(name), clean(problem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_shows_what_waits_what_was_given_up_and_why() {
        let delivery = DeliveryView {
            id: "a.1".to_owned(),
            event: "hold.placed".to_owned(),
            state: "dead".to_owned(),
            tries: 10,
            created_at: Timestamp::UNIX_EPOCH,
            ended_at: Some(Timestamp::UNIX_EPOCH),
            due_at: None,
            problem: Some("it answered 500\u{1b}[2J".to_owned()),
        };
        let one = DestinationView {
            name: "ops".to_owned(),
            kind: "webhook".to_owned(),
            to: "https://ops.example".to_owned(),
            events: vec!["hold.placed".to_owned()],
            waiting: 2,
            dead: 1,
            recent: vec![delivery.clone()],
        };
        let shown = destinations(&[one], Timestamp::UNIX_EPOCH);
        assert!(shown.starts_with("ops  webhook https://ops.example\n  told of hold.placed\n"), "{shown}");
        assert!(shown.contains("2 wait for another try") && shown.contains("1 given up; `holdpoint notify retry ops`"));
        assert!(shown.contains("it answered 500") && !shown.contains('\u{1b}'), "{shown}");
        assert!(tested("ops", &delivery).starts_with("ops  not delivered: it answered 500"));
        assert!(destinations(&[], Timestamp::UNIX_EPOCH).starts_with("Nobody is told"));
    }
}
