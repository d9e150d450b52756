//! Spend of an attempt, read from the log of its calls: what was settled, and what was open when the shim died.

use std::collections::BTreeMap;

use broker::calls::{CallRecord, Outcome as CallOutcome, Standing, Used};
use domain::{Micros, SpendReport};

/// What was open when a shim died: per call the newest line about it, and what was reserved for every try that may be billed.
pub(crate) fn unsettled(records: &[CallRecord]) -> Vec<SpendReport> {
    let mut open: BTreeMap<u32, SpendReport> = BTreeMap::new();
    let mut reserved_for: BTreeMap<u32, Option<Micros>> = BTreeMap::new();
    for record in records {
        match record {
            CallRecord::Reserved(reserved) => {
                let spend = SpendReport {
                    effect: 0,
                    call: 0,
                    model: reserved.model.clone(),
                    input_tokens: 0,
                    output_tokens: 0,
                    cost: reserved.micro_usd.map(|micros| Micros(micros.0)),
                    reported_by: None,
                };
                reserved_for.insert(reserved.call, spend.cost);
                open.insert(reserved.call, spend);
            }
            CallRecord::Used(used) if used.standing == Standing::Growing => {
                open.insert(used.call, reported(used));
            }
            CallRecord::Used(used) => drop(open.remove(&used.call)),
            CallRecord::Settled(settled) => drop(open.remove(&settled.call)),
            CallRecord::Tried(tried) => {
                // Another try is made, beside one that was sent and not refused.
                let sent = matches!(tried.outcome, CallOutcome::Stalled | CallOutcome::Cut)
                    || matches!(tried.status, Some(504 | 524));
                if let (true, Some(spend)) = (sent, open.get_mut(&tried.call)) {
                    let each = reserved_for.get(&tried.call).copied().flatten();
                    spend.cost = spend.cost.zip(each).map(|(cost, each)| cost.plus(each));
                }
            }
            CallRecord::Read(_) | CallRecord::Connection(_) | CallRecord::Disconnection(_) => {}
        }
    }
    open.into_values().collect()
}

/// What a program says of itself.
fn reported(used: &Used) -> SpendReport {
    SpendReport {
        effect: 0,
        call: 0,
        model: used.model.clone(),
        input_tokens: used.input_tokens,
        output_tokens: used.output_tokens,
        cost: used.micro_usd.map(|micros| Micros(micros.0)),
        reported_by: Some(used.by.clone()),
    }
}

/// A settled call that reached an upstream. One that was refused before it was tried cost nothing; one that was refused a
/// second try may be billed for the first.
pub(crate) fn paid(record: &CallRecord) -> Option<SpendReport> {
    let settled = match record {
        CallRecord::Settled(settled) => settled,
        CallRecord::Used(used) => return (used.standing == Standing::Settled).then(|| reported(used)),
        CallRecord::Reserved(_)
        | CallRecord::Tried(_)
        | CallRecord::Read(_)
        | CallRecord::Connection(_)
        | CallRecord::Disconnection(_) => {
            return None;
        }
    };
    let refused = match settled.outcome {
        CallOutcome::Budget
        | CallOutcome::PriceUnknown
        | CallOutcome::CallLimit
        | CallOutcome::Quota
        | CallOutcome::Refused => true,
        CallOutcome::Ok
        | CallOutcome::Error
        | CallOutcome::Cut
        | CallOutcome::Stalled
        | CallOutcome::Malformed
        | CallOutcome::Empty
        | CallOutcome::Abandoned
        | CallOutcome::ScriptOver => false,
    };
    if refused && settled.micro_usd.unwrap_or_default().0 == 0 {
        return None;
    }
    Some(SpendReport {
        effect: 0,
        call: 0,
        model: settled.model.clone(),
        input_tokens: settled.input_tokens + settled.cache_read_tokens + settled.cache_write_tokens,
        output_tokens: settled.output_tokens,
        cost: settled.micro_usd.map(|micros| Micros(micros.0)),
        reported_by: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records_of(lines: &[&str]) -> Vec<CallRecord> {
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    const RESERVED: &str = r#"{"state":"reserved","call":1,"model":"house/m","protocol":"messages","microUsd":700,"startedAt":"2026-01-01T00:00:00Z"}"#;

    #[test]
    fn a_call_that_was_refused_a_second_try_is_paid_for_its_first() {
        let settled = |outcome: &str, cost: u64, tries: u32| {
            let line = format!(
                r#"{{"state":"settled","call":1,"model":"house/m","protocol":"messages","inputTokens":9,"outputTokens":70,"cacheReadTokens":0,"cacheWriteTokens":0,"reasoningTokens":0,"usageKnown":false,"microUsd":{cost},"priceKnown":true,"status":402,"outcome":"{outcome}","tries":{tries},"startedAt":"2026-01-01T00:00:00Z","millis":1}}"#
            );
            records_of(&[&line]).iter().find_map(paid)
        };
        for outcome in ["budget", "quota", "refused", "callLimit", "priceUnknown"] {
            let spend = settled(outcome, 700, 1).unwrap_or_else(|| panic!("{outcome}: its first try may be billed"));
            assert_eq!((spend.cost, spend.output_tokens), (Some(Micros(700)), 70), "{outcome}");
            assert!(settled(outcome, 0, 0).is_none(), "{outcome}: it was never tried");
        }
    }

    #[test]
    fn what_a_killed_shim_left_open_counts_every_try_that_may_be_billed() {
        let tried = |outcome: &str, status: &str| {
            format!(
                r#"{{"state":"tried","call":1,"attempt":1,"outcome":"{outcome}","status":{status},"cause":"c","waitMillis":1,"at":"2026-01-01T00:00:00Z"}}"#
            )
        };
        let cost = |lines: &[&str]| {
            unsettled(&records_of(lines)).iter().filter_map(|spend| spend.cost).map(|cost| cost.0).sum::<u64>()
        };
        assert_eq!(cost(&[RESERVED]), 700);
        let (stalled, cut) = (tried("stalled", "null"), tried("cut", "null"));
        assert_eq!(cost(&[RESERVED, &stalled, &cut]), 2_100, "two tries were sent, and a third may have been");
        assert_eq!(cost(&[RESERVED, &tried("error", "504")]), 1_400);
        assert_eq!(cost(&[RESERVED, &tried("error", "429")]), 700, "a refusal is not billed");
    }
}
