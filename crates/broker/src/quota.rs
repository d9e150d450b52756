//! Tells a spent usage window from a passing overload, and reads when it opens again. Pure: who waits is decided
//! elsewhere. A wall is never waited for in the gateway; the run is put on hold instead.

use std::time::Duration;

use axum::http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::retry;

/// A usage window that is spent, or an account without money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wall {
    /// What the provider said.
    pub(crate) said: String,
    /// When it opens, as far as the provider told.
    pub(crate) resets_at: Option<Timestamp>,
}

/// An upstream's no, as far as it tells about quota.
pub(crate) struct Told<'a> {
    pub(crate) status: u16,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a Value,
    pub(crate) now: Timestamp,
}

/// Codes and words with which providers say that waiting a moment will not help.
const CODES: [&str; 7] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "usage_limit_reached",
    "usage_limit_exceeded",
    "quota_exceeded",
    "billing_error",
];
const WORDS: [&str; 8] = [
    "usage limit",
    "exceeded your current quota",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "run out of credits",
    "spending limit",
    "quota will reset",
];

impl Told<'_> {
    /// The wall, if it is one. `patience` is the longest wait that is still waited for.
    pub(crate) fn wall(&self, patience: Duration) -> Option<Wall> {
        if !matches!(self.status, 400 | 402 | 403 | 429) {
            return None;
        }
        // Google uses the same words for a full minute as for a full day; the wait it asks for tells them apart.
        if !self.daily() && self.retry_delay().is_some_and(|wait| wait <= patience) {
            return None;
        }
        let resets_at = self.resets_at();
        let far = resets_at.is_some_and(|at| at.duration_since(self.now) > signed(patience));
        let spent = match self.status {
            402 => true,
            429 => far || self.says_spent(),
            // Some providers call an empty account a bad request; a wait alone does not make it one.
            _ => self.says_spent(),
        };
        spent.then(|| Wall { said: self.words(), resets_at: resets_at.filter(|at| *at > self.now) })
    }

    /// What the upstream asked us to wait, in a header or in its body.
    pub(crate) fn asked_wait(&self) -> Option<Duration> {
        let asked = retry::retry_after(self.headers, self.now).or_else(|| self.retry_delay());
        asked.or_else(|| {
            let at = self.window()?;
            Some(Duration::try_from(at.duration_since(self.now)).unwrap_or_default())
        })
    }

    fn says_spent(&self) -> bool {
        let error = &self.body["error"];
        let coded = ["code", "type", "status"].iter().filter_map(|field| error[*field].as_str());
        let words = self.words().to_lowercase();
        coded.into_iter().any(|code| CODES.contains(&code))
            || WORDS.iter().any(|known| words.contains(known))
            || self.daily()
            || self.headers.get("anthropic-ratelimit-unified-status").is_some_and(|status| status == "rejected")
    }

    /// Google names the quota that was hit; one per day does not come back in a minute, whatever it asks to wait.
    fn daily(&self) -> bool {
        let details = self.body["error"]["details"].as_array().into_iter().flatten();
        let violations = details.flat_map(|detail| detail["violations"].as_array().into_iter().flatten());
        violations.into_iter().any(|quota| quota["quotaId"].as_str().is_some_and(|id| id.contains("PerDay")))
    }

    fn resets_at(&self) -> Option<Timestamp> {
        let error = &self.body["error"];
        let named = error["resets_at"].as_i64().and_then(|at| Timestamp::from_second(at).ok());
        let relative = error["resets_in_seconds"].as_u64().map(Duration::from_secs);
        let delay = self.retry_delay().filter(|_| !self.daily());
        let asked = retry::retry_after(self.headers, self.now).or(relative).or(delay);
        let asked = asked.and_then(|wait| self.now.checked_add(signed(wait)).ok());
        named.or_else(|| self.in_words()).or(asked).or_else(|| self.window())
    }

    /// `…usage limit reached|1767225600`, as a subscription says it.
    fn in_words(&self) -> Option<Timestamp> {
        let words = self.words();
        let (_, at) = words.rsplit_once('|')?;
        Timestamp::from_second(at.trim().parse().ok()?).ok()
    }

    /// Google's `retryDelay`, as `"3.5s"`.
    fn retry_delay(&self) -> Option<Duration> {
        let details = self.body["error"]["details"].as_array()?;
        let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
        Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
    }

    /// The latest reset of a window that is used up. Headers of windows with something left say nothing.
    fn window(&self) -> Option<Timestamp> {
        let resets = self.headers.iter().filter_map(|(name, value)| {
            let name = name.as_str();
            let text = value.to_str().ok()?.trim();
            let remaining = match name.strip_prefix("x-ratelimit-reset") {
                Some(kind) => format!("x-ratelimit-remaining{kind}"),
                None => format!("{}-remaining", name.strip_prefix("anthropic-ratelimit-")?.strip_suffix("-reset")?),
            };
            let remaining = match remaining.starts_with('x') {
                true => remaining,
                false => format!("anthropic-ratelimit-{remaining}"),
            };
            let left = self.headers.get(remaining.as_str()).and_then(|left| left.to_str().ok());
            let used_up = left.is_some_and(|left| left.trim().parse::<f64>().is_ok_and(|left| left <= 0.0));
            let unified = name.starts_with("anthropic-ratelimit-unified");
            if used_up || unified { reset(text, self.now) } else { None }
        });
        resets.max()
    }

    fn words(&self) -> String {
        let said = self.body["error"]["message"].as_str().or_else(|| self.body["message"].as_str());
        let said = said.or_else(|| self.body["error"].as_str()).unwrap_or("it gave no reason");
        said.chars().filter(|c| !c.is_control()).take(500).collect()
    }
}

/// A date, seconds since 1970, seconds from now, or `1h2m3.5s`.
fn reset(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Ok(number) = text.parse::<f64>() {
        // No window is thirty years long, and none reset before 2001.
        let since_1970 = number > 1_000_000_000.0;
        let wait = Duration::try_from_secs_f64(number).ok()?;
        let from = if since_1970 { Timestamp::UNIX_EPOCH } else { now };
        return from.checked_add(signed(wait)).ok();
    }
    now.checked_add(signed(duration(text)?)).ok()
}

fn duration(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit] {
                "d" => 86_400.0,
                "h" => 3_600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 0.001,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    Duration::try_from_secs_f64(total).ok()
}

fn signed(wait: Duration) -> SignedDuration {
    SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MINUTE: Duration = Duration::from_secs(60);

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    /// The reset time, `Some(None)` for a wall without one, `None` for no wall.
    fn wall(status: u16, headers: &[(&'static str, &str)], body: &Value) -> Option<Option<String>> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let told = Told { status, headers: &map, body, now: now() };
        told.wall(MINUTE).map(|wall| wall.resets_at.map(|at| at.to_string()))
    }

    fn at(text: &str) -> Option<Option<String>> {
        Some(Some(text.to_owned()))
    }

    #[test]
    fn anthropic_windows_that_open_much_later_are_walls() {
        let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
        let far = ("anthropic-ratelimit-tokens-reset", "2026-01-01T05:00:00Z");
        let near = ("anthropic-ratelimit-tokens-reset", "2026-01-01T00:00:30Z");
        let spent = ("anthropic-ratelimit-tokens-remaining", "0");
        assert_eq!(wall(429, &[far, spent], &body), at("2026-01-01T05:00:00Z"));
        assert_eq!(wall(429, &[near, spent], &body), None);
        assert_eq!(wall(429, &[far, ("anthropic-ratelimit-tokens-remaining", "12")], &body), None);
        assert_eq!(wall(429, &[], &body), None);
        let unified =
            [("anthropic-ratelimit-unified-status", "rejected"), ("anthropic-ratelimit-unified-reset", "1767243600")];
        assert_eq!(wall(429, &unified, &body), at("2026-01-01T05:00:00Z"));
        assert_eq!(wall(529, &[("retry-after", "9000")], &body), None, "overload is not quota");
    }

    #[test]
    fn words_and_codes_are_walls_without_a_time() {
        let said = |text: &str| json!({"error": {"message": text}});
        assert_eq!(wall(400, &[], &said("Your credit balance is too low to access the API")), Some(None));
        assert_eq!(wall(402, &[], &said("Insufficient Balance")), Some(None));
        assert_eq!(wall(429, &[], &json!({"error": {"code": "insufficient_quota"}})), Some(None));
        assert_eq!(wall(429, &[], &said("AI usage limit reached|1767243600")), at("2026-01-01T05:00:00Z"));
        assert_eq!(wall(400, &[], &said("max_tokens is too large")), None);
        assert_eq!(wall(500, &[], &said("usage limit")), None);
    }

    #[test]
    fn openai_and_codex_windows_are_read() {
        let body = json!({"error": {"type": "usage_limit_reached", "message": "m", "resets_in_seconds": 7200}});
        assert_eq!(wall(429, &[], &body), at("2026-01-01T02:00:00Z"));
        let limits = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1h2m3s")];
        assert_eq!(wall(429, &limits, &json!({"error": {"code": "rate_limit_exceeded"}})), at("2026-01-01T01:02:03Z"));
        let limits = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "950ms")];
        assert_eq!(wall(429, &limits, &json!({})), None);
    }

    #[test]
    fn gemini_delays_of_hours_and_daily_quotas_are_walls() {
        let body = |delay: &str, quota: &str| {
            let message = "You exceeded your current quota, please check your plan";
            json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": message, "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
            ]}})
        };
        assert_eq!(wall(429, &[], &body("7200s", "PerMinute")), at("2026-01-01T02:00:00Z"));
        assert_eq!(wall(429, &[], &body("36.5s", "GenerateRequestsPerMinute")), None);
        let daily = wall(429, &[], &body("36s", "GenerateRequestsPerDayPerProject"));
        assert_eq!(daily, Some(None), "a day is not over in 36 seconds, whatever is asked");
        let headers = HeaderMap::new();
        let told = Told { status: 429, headers: &headers, body: &body("36.5s", ""), now: now() };
        assert_eq!(told.asked_wait(), Some(Duration::from_millis(36_500)));
    }

    #[test]
    fn a_long_asked_wait_is_a_wall_and_the_past_is_no_time() {
        assert_eq!(wall(429, &[("retry-after", "3600")], &json!({})), at("2026-01-01T01:00:00Z"));
        assert_eq!(wall(429, &[("retry-after", "30")], &json!({})), None);
        let old = json!({"error": {"type": "usage_limit_reached", "resets_at": 1}});
        assert_eq!(wall(429, &[], &old), Some(None));
    }

    #[test]
    fn nonsense_is_no_duration() {
        for text in ["", "soon", "1", "1y", "..s", "-3s"] {
            let read = duration(text);
            assert!(read.is_none_or(|wait| wait.is_zero()), "{text}: {read:?}");
        }
    }
}
