//! When a failed try is made again, and after how long. Pure: the waiting is done elsewhere.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use axum::http::HeaderMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How often and how patiently an upstream is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RetryPolicy {
    /// Tries in all, the first one included.
    pub attempts: u32,
    /// The wait before the second try; it doubles from there.
    pub base_ms: u64,
    /// The longest wait. An upstream that asks for a longer one is not asked again.
    pub cap_ms: u64,
    pub connect_ms: u64,
    /// From sending the request to the first byte of the answer.
    pub first_byte_ms: u64,
    /// Between two bytes of the answer.
    pub idle_ms: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            base_ms: 1_000,
            cap_ms: 60_000,
            connect_ms: 10_000,
            // Reasoning models that do not stream are silent for minutes.
            first_byte_ms: 600_000,
            idle_ms: 180_000,
        }
    }
}

impl RetryPolicy {
    /// The wait before the next try, or `None` to give up. `seed` spreads waits that start at
    /// the same time; the same seed gives the same wait.
    pub(crate) fn wait(&self, tries: u32, retry_after: Option<Duration>, seed: impl Hash) -> Option<Duration> {
        if tries >= self.attempts {
            return None;
        }
        let cap = Duration::from_millis(self.cap_ms);
        if let Some(asked) = retry_after {
            return (asked <= cap).then_some(asked);
        }
        let factor = 1_u64 << tries.saturating_sub(1).min(20);
        let full = self.base_ms.saturating_mul(factor).min(self.cap_ms);
        let mut hasher = DefaultHasher::new();
        (seed, tries).hash(&mut hasher);
        let spread = hasher.finish() % (full / 4 + 1);
        Some(Duration::from_millis(full - spread))
    }
}

/// Statuses that a later try may not see again.
pub(crate) fn passes_over(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502..=504 | 506..=599)
}

/// What the upstream asked us to wait: milliseconds, seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1_000.0).ok();
    }
    let asked = text("retry-after")?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(asked).ok()?;
    // A date in the past is a wait of nothing.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> RetryPolicy {
        RetryPolicy { attempts: 4, base_ms: 100, cap_ms: 1_000, ..RetryPolicy::default() }
    }

    #[test]
    fn waits_double_within_a_quarter_and_then_stop() {
        let wait = |tries| policy().wait(tries, None, "seed").map(|d| d.as_millis());
        assert!((75..=100).contains(&wait(1).unwrap()));
        assert!((150..=200).contains(&wait(2).unwrap()));
        assert!((300..=400).contains(&wait(3).unwrap()));
        assert_eq!(wait(4), None);
        let late = RetryPolicy { attempts: 99, ..policy() };
        assert!(late.wait(80, None, 1).unwrap().as_millis() <= 1_000);
    }

    #[test]
    fn an_asked_wait_is_kept_exactly_or_not_waited() {
        let asked = |ms| policy().wait(1, Some(Duration::from_millis(ms)), 0);
        assert_eq!(asked(1_000), Some(Duration::from_secs(1)));
        assert_eq!(asked(1_001), None);
    }

    #[test]
    fn all_forms_of_retry_after_are_read() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let read = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            retry_after(&headers, now).map(|d| d.as_millis())
        };
        assert_eq!(read("retry-after", "2"), Some(2_000));
        assert_eq!(read("retry-after", "0.5"), Some(500));
        assert_eq!(read("retry-after-ms", "250"), Some(250));
        assert_eq!(read("retry-after", "Thu, 01 Jan 2026 00:00:03 GMT"), Some(3_000));
        assert_eq!(read("retry-after", "Thu, 01 Jan 2015 00:00:03 GMT"), Some(0));
        assert_eq!(read("retry-after", "soon"), None);
        assert_eq!(read("retry-after", "-1"), None);
    }

    #[test]
    fn only_passing_troubles_are_tried_again() {
        for status in [408, 429, 500, 502, 503, 504, 529] {
            assert!(passes_over(status), "{status}");
        }
        for status in [200, 301, 400, 401, 402, 403, 404, 409, 413, 422, 501, 505] {
            assert!(!passes_over(status), "{status}");
        }
    }
}
