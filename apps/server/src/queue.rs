//! Why a run has not begun, in words: what keeps it out, and who can change that.

use engine::{Blocked, QueueState};

/// What a queued run waits for, and what unblocks it.
pub(crate) fn words(user: &str, short_id: &str, state: &QueueState) -> (String, Vec<String>) {
    let mut ways = Vec::new();
    let reason = match state.blocked_by {
        Blocked::UserLimit { limit } => {
            ways.push("it begins by itself when one of them has ended".to_owned());
            if state.waiting > 0 {
                ways.push(format!("{} for a decision: see `holdpoint inbox`", wait(state.waiting)));
            }
            ways.push("a higher MAX_CONCURRENT_RUNS_PER_USER lets in more, from the server's next start".to_owned());
            active(user, state.active, limit)
        }
        Blocked::Reviews { limit } => {
            ways.push("decide some in `holdpoint inbox`".to_owned());
            ways.push("a higher HOLDPOINT_MAX_WAITING_REVIEWS lets in more, from the server's next start".to_owned());
            format!("{} for {user}'s decision (limit {limit})", wait(state.waiting))
        }
        Blocked::Slots => {
            ways.push("it begins by itself when a slot of this machine is free".to_owned());
            "every slot of this machine is taken".to_owned()
        }
    };
    ways.push(format!("`holdpoint cancel {short_id}` ends it"));
    (format!("{reason}; {}", ahead(state.ahead)), ways)
}

fn active(user: &str, active: u64, limit: u32) -> String {
    match (active, limit) {
        (1, 1) => format!("the one run of {user} that may be is active"),
        // A limit that was lowered ends no run.
        _ if active > u64::from(limit) => format!("{active} runs of {user} are active (limit {limit})"),
        _ => format!("{active} of {limit} runs of {user} are active"),
    }
}

fn wait(count: u64) -> String {
    if count == 1 { "1 run waits".to_owned() } else { format!("{count} runs wait") }
}

fn ahead(count: u64) -> String {
    match count {
        0 => "it is the next".to_owned(),
        1 => "1 is ahead of it".to_owned(),
        _ => format!("{count} are ahead of it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(state: (u64, u64, u64), blocked_by: Blocked, reason: &str, ways: &[&str]) {
        let (ahead, active, waiting) = state;
        let (said, shown) = words("ada", "abc123", &QueueState { ahead, active, waiting, blocked_by });
        assert_eq!(said, reason);
        let (last, others) = shown.split_last().unwrap();
        assert_eq!(last, "`holdpoint cancel abc123` ends it");
        for (way, expected) in others.iter().zip(ways) {
            assert!(way.contains(expected), "{way}");
        }
        assert_eq!(others.len(), ways.len(), "{others:?}");
    }

    #[test]
    fn a_full_user_is_told_how_many_are_active_and_ahead() {
        let limit = |limit| Blocked::UserLimit { limit };
        let ways = ["when one of them has ended", "MAX_CONCURRENT_RUNS_PER_USER"];
        check((2, 5, 0), limit(5), "5 of 5 runs of ada are active; 2 are ahead of it", &ways);
        check((1, 7, 0), limit(5), "7 runs of ada are active (limit 5); 1 is ahead of it", &ways);
        check((0, 1, 0), limit(1), "the one run of ada that may be is active; it is the next", &ways);
        let ways = [ways[0], "1 run waits for a decision: see `holdpoint inbox`", ways[1]];
        check((0, 5, 1), limit(5), "5 of 5 runs of ada are active; it is the next", &ways);
    }

    #[test]
    fn too_many_reviews_are_named_with_where_to_decide() {
        let reason = "23 runs wait for ada's decision (limit 20); 2 are ahead of it";
        let ways = ["decide some in `holdpoint inbox`", "HOLDPOINT_MAX_WAITING_REVIEWS"];
        check((2, 5, 23), Blocked::Reviews { limit: 20 }, reason, &ways);
    }

    #[test]
    fn a_missing_slot_is_the_machines() {
        let reason = "every slot of this machine is taken; it is the next";
        check((0, 1, 0), Blocked::Slots, reason, &["when a slot of this machine is free"]);
    }
}
