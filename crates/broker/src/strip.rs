//! Takes the usage event out of a Chat stream whose agent did not ask for it. Holds back at most one unfinished
//! event, and changes nothing else.

use bytes::Bytes;
use serde_json::Value;

/// An event that is longer is no usage report; it is passed on as it comes.
const MOST_HELD: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Strip {
    held: Vec<u8>,
    /// The rest of an event that was too long to hold.
    passing: bool,
}

impl Strip {
    /// What of the stream can be passed on now.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> Bytes {
        self.held.extend_from_slice(chunk);
        let mut out = Vec::with_capacity(self.held.len());
        while let Some(end) = event_end(&self.held) {
            let event: Vec<u8> = self.held.drain(..end).collect();
            if std::mem::take(&mut self.passing) || !is_usage_only(&event) {
                out.extend(event);
            }
        }
        if self.passing || self.held.len() > MOST_HELD {
            self.passing = true;
            // The last bytes may be the beginning of a blank line.
            let keep = self.held.len().saturating_sub(3);
            out.extend(self.held.drain(..keep));
        }
        out.into()
    }

    /// What is left when nothing more will come.
    pub(crate) fn rest(&mut self) -> Bytes {
        let rest = std::mem::take(&mut self.held);
        if is_usage_only(&rest) { Bytes::new() } else { rest.into() }
    }
}

/// The place after the first blank line.
fn event_end(bytes: &[u8]) -> Option<usize> {
    let at =
        |pattern: &[u8]| bytes.windows(pattern.len()).position(|part| part == pattern).map(|at| at + pattern.len());
    match (at(b"\n\n"), at(b"\r\n\r\n")) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn is_usage_only(event: &[u8]) -> bool {
    let text = String::from_utf8_lossy(event);
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let (Some(data), None) = (data.next(), data.next()) else { return false };
    let Ok(event) = serde_json::from_str::<Value>(data) else { return false };
    event["usage"].is_object() && event["choices"].as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\r\n\r\n\
        data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1}}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n\
        data: [DONE]\n\n";

    #[test]
    fn only_the_event_that_is_nothing_but_usage_goes_wherever_the_chunks_are_cut() {
        let expected = STREAM.replace("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n", "");
        for cut in 0..=STREAM.len() {
            let mut strip = Strip::default();
            let mut out = strip.feed(&STREAM.as_bytes()[..cut]).to_vec();
            out.extend(strip.feed(&STREAM.as_bytes()[cut..]));
            out.extend(strip.rest());
            assert_eq!(String::from_utf8(out).unwrap(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_long_event_is_not_held_back() {
        let mut strip = Strip::default();
        let long = format!("data: {}", "x".repeat(MOST_HELD));
        let mut out = strip.feed(long.as_bytes()).to_vec();
        assert!(out.len() > MOST_HELD / 2);
        out.extend(strip.feed(b"yy\n\ndata: {\"choices\":[],\"usage\":{}}\n\n"));
        assert_eq!(String::from_utf8(out).unwrap(), format!("{long}yy\n\n"));
        assert!(strip.rest().is_empty());
    }
}
