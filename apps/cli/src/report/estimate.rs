//! What a run will probably cost, in words.

use wire::EstimateView;

use super::clean_line;
use super::words::money;

/// The estimate, the limits and what may not be enough.
pub(crate) fn estimate(said: &EstimateView) -> String {
    let mut lines = vec![short(said)];
    for purse in &said.shared {
        let (spent, limit) = (money(purse.spent_usd), money(purse.limit_usd));
        lines.push(format!(
            "limit {}: {spent} of {limit} spent, begins anew {}",
            clean_line(&purse.name),
            purse.resets_at.strftime("%Y-%m-%d %H:%M UTC")
        ));
    }
    lines.extend(said.warnings.iter().map(|warning| format!("note: {}", clean_line(warning))));
    lines.join("\n")
}

/// The estimate in one line.
pub(crate) fn short(said: &EstimateView) -> String {
    let basis = clean_line(&said.basis);
    let cost = match (said.likely_usd, said.high_usd) {
        (Some(likely), Some(high)) => format!("about {}, up to {} ({basis})", money(likely), money(high)),
        (_, _) => format!("cost {basis}"),
    };
    match said.limit_usd {
        Some(limit) => format!("{cost}; limit {}", money(limit)),
        None => format!("{cost}; no limit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::SharedLimitView;

    #[test]
    fn a_guess_is_called_one_and_what_is_short_is_said() {
        let shared = SharedLimitView {
            name: "for the day".to_owned(),
            limit_usd: 5.0,
            spent_usd: 4.5,
            resets_at: "2026-11-17T00:00:00Z".parse().unwrap(),
        };
        let said = EstimateView {
            likely_usd: Some(1.25),
            high_usd: Some(3.75),
            basis: "a rough guess".to_owned(),
            limit_usd: Some(1.0),
            shared: vec![shared],
            warnings: vec!["too little".to_owned()],
        };
        let expected = "about $1.25, up to $3.75 (a rough guess); limit $1.00\n\
                        limit for the day: $4.50 of $5.00 spent, begins anew 2026-11-17 00:00 UTC\n\
                        note: too little";
        assert_eq!(estimate(&said), expected);
        let unknown = EstimateView { likely_usd: None, high_usd: None, basis: "unknown: no price".to_owned(), ..said };
        assert_eq!(short(&unknown), "cost unknown: no price; limit $1.00");
    }
}
