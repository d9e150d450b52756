//! Reads along while an answer is passed on: how many tokens, and did it end as it should.
//! Never changes, holds back or reorders a byte of the answer.

use serde_json::Value;

use crate::calls::Outcome;
use crate::protocol::Protocol;
use crate::usage::Reported;

/// A longer line or body is not read (it still passes).
const MOST_BUFFERED: usize = 16 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Events,
    Json,
}

impl Shape {
    /// By what has come rather than by what its header says: some servers label streams wrongly.
    pub(crate) fn of(first: &[u8], content_type: Option<&[u8]>) -> Self {
        let text = first.trim_ascii_start();
        let starts = [&b"data:"[..], b"event:", b"id:", b"retry:", b":"];
        let labelled = content_type.is_some_and(|label| label.starts_with(b"text/event-stream"));
        if starts.iter().any(|start| text.starts_with(start)) || labelled { Self::Events } else { Self::Json }
    }
}

#[derive(Debug)]
pub(crate) struct Tap {
    protocol: Protocol,
    shape: Shape,
    buffer: Vec<u8>,
    /// Bytes at the start of the buffer that hold no end of a line.
    scanned: usize,
    data: String,
    reported: Option<Reported>,
    text_bytes: u64,
    all_bytes: u64,
    seen: Seen,
}

/// Marks that only ever go from false to true while reading.
#[derive(Debug, Default)]
struct Seen {
    content: bool,
    stop: bool,
    end: bool,
    error: bool,
    nonsense: bool,
    /// Part of a line was thrown away; the rest of it is not read either.
    overlong: bool,
}

impl Tap {
    pub(crate) fn new(protocol: Protocol, shape: Shape) -> Self {
        Self {
            protocol,
            shape,
            buffer: Vec::new(),
            scanned: 0,
            data: String::new(),
            reported: None,
            text_bytes: 0,
            all_bytes: 0,
            seen: Seen::default(),
        }
    }

    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        self.all_bytes += chunk.len() as u64;
        self.buffer.extend_from_slice(chunk);
        if self.shape == Shape::Events {
            self.take_lines();
        }
        if self.buffer.len() + self.data.len() > MOST_BUFFERED {
            self.buffer.clear();
            self.scanned = 0;
            self.data.clear();
            self.seen.nonsense = true;
            self.seen.overlong = true;
        }
    }

    /// Nothing more will come.
    pub(crate) fn finish(&mut self) {
        match self.shape {
            Shape::Events => {
                // Some servers leave out the last blank line.
                self.buffer.extend_from_slice(b"\n\n");
                self.take_lines();
            }
            Shape::Json => {
                let body = std::mem::take(&mut self.buffer);
                match serde_json::from_slice::<Value>(&body) {
                    Ok(body) if body.is_object() => self.read_body(&body),
                    Ok(Value::Array(parts)) if self.protocol == Protocol::Gemini => {
                        parts.iter().for_each(|part| self.gemini_event(part));
                    }
                    Ok(_) | Err(_) => self.seen.nonsense = true,
                }
            }
        }
    }

    /// Whether the protocol's own end mark has been seen.
    pub(crate) fn ended(&self) -> bool {
        self.seen.end
    }

    /// Whether nothing is missing that anybody would wait for: why it ended, and how many tokens it took.
    pub(crate) fn said_all(&self) -> bool {
        let told = self.reported.is_some_and(|reported| reported.input && reported.output);
        told && (self.seen.end || self.seen.stop)
    }

    pub(crate) fn reported(&self) -> Option<Reported> {
        self.reported
    }

    /// Bytes of text, thoughts and tool arguments seen: the measure when no usage is reported. Of an answer that
    /// cannot be read every byte counts.
    pub(crate) fn text_bytes(&self) -> u64 {
        if self.seen.nonsense { self.text_bytes.max(self.all_bytes) } else { self.text_bytes }
    }

    /// Whether an error is all that has come.
    pub(crate) fn only_error(&self) -> bool {
        self.seen.error && !self.seen.content && self.text_bytes == 0
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let complete = self.seen.end || self.seen.stop;
        if self.seen.error {
            Outcome::Error
        } else if self.seen.nonsense && !complete {
            Outcome::Malformed
        } else if !complete {
            Outcome::Cut
        } else if !self.seen.content {
            Outcome::Empty
        } else {
            Outcome::Ok
        }
    }

    fn take_lines(&mut self) {
        let mut from = 0;
        let mut at = self.scanned;
        while let Some(length) = self.buffer[at..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.buffer[from..at + length]).into_owned();
            at += length + 1;
            from = at;
            if !std::mem::take(&mut self.seen.overlong) {
                self.take_line(line.trim_end_matches('\r'));
            }
        }
        self.buffer.drain(..from);
        self.scanned = self.buffer.len();
    }

    fn take_line(&mut self, line: &str) {
        if let Some(data) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
        } else if line.is_empty() && !self.data.is_empty() {
            let data = std::mem::take(&mut self.data);
            self.take_event(&data);
        }
    }

    fn take_event(&mut self, data: &str) {
        if data.trim() == "[DONE]" {
            self.seen.end = true;
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            self.seen.nonsense = true;
            return;
        };
        match self.protocol {
            Protocol::Messages => self.messages_event(&event),
            Protocol::Chat => self.chat_event(&event),
            Protocol::Responses => self.responses_event(&event),
            Protocol::Gemini => self.gemini_event(&event),
            Protocol::Embeddings => self.read_body(&event),
        }
    }

    fn messages_event(&mut self, event: &Value) {
        match event["type"].as_str() {
            Some("message_start") => self.reported.get_or_insert_default().messages_start(&event["message"]["usage"]),
            Some("message_delta") => self.reported.get_or_insert_default().messages_piece(&event["usage"]),
            Some("content_block_start") => self.seen.content = true,
            Some("content_block_delta") => {
                for field in ["text", "thinking", "partial_json"] {
                    self.add_text(&event["delta"][field]);
                }
            }
            Some("message_stop") => self.seen.end = true,
            Some("error") => self.seen.error = true,
            Some(_) | None => {}
        }
    }

    fn chat_event(&mut self, event: &Value) {
        if event["error"].is_object() {
            self.seen.error = true;
        }
        self.report(Reported::from_chat(&event["usage"]));
        for choice in event["choices"].as_array().into_iter().flatten() {
            self.add_chat_content(&choice["delta"]);
            self.seen.stop |= choice["finish_reason"].is_string();
        }
    }

    fn responses_event(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap_or("");
        match kind {
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.read_response(&event["response"]);
                self.seen.error |= kind == "response.failed";
                self.seen.end = true;
            }
            "error" => self.seen.error = true,
            "response.output_item.added" => self.seen.content = true,
            _ if kind.ends_with(".delta") => self.add_text(&event["delta"]),
            _ => {}
        }
    }

    fn read_body(&mut self, body: &Value) {
        self.seen.error |= body["error"].is_object();
        self.seen.end = true;
        match self.protocol {
            Protocol::Messages => {
                self.reported.get_or_insert_default().messages_piece(&body["usage"]);
                for block in body["content"].as_array().into_iter().flatten() {
                    self.seen.content = true;
                    self.add_text(&block["text"]);
                    self.add_text(&block["thinking"]);
                    if block["input"].is_object() {
                        self.text_bytes += block["input"].to_string().len() as u64;
                    }
                }
            }
            Protocol::Chat => {
                self.report(Reported::from_chat(&body["usage"]));
                for choice in body["choices"].as_array().into_iter().flatten() {
                    self.add_chat_content(&choice["message"]);
                }
            }
            Protocol::Responses => self.read_response(body),
            Protocol::Gemini => self.gemini_event(body),
            Protocol::Embeddings => {
                self.report(Reported::from_embeddings(&body["usage"]));
                self.seen.content |= body["data"].as_array().is_some_and(|vectors| !vectors.is_empty());
            }
        }
    }

    /// Each event of a stream is a whole answer with a part of the content. There is no end mark of its own: the
    /// one that says why it stopped is the last, once it also says how many tokens there were.
    fn gemini_event(&mut self, event: &Value) {
        self.seen.error |= event["error"].is_object();
        self.report(Reported::from_gemini(&event["usageMetadata"]));
        for candidate in event["candidates"].as_array().into_iter().flatten() {
            for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
                self.add_text(&part["text"]);
                if part["functionCall"].is_object() {
                    self.seen.content = true;
                    self.text_bytes += part["functionCall"].to_string().len() as u64;
                }
            }
            self.seen.stop |= candidate["finishReason"].is_string();
        }
        self.seen.stop |= event["promptFeedback"]["blockReason"].is_string();
        self.seen.end |= self.seen.stop && self.reported.is_some_and(|reported| reported.output);
    }

    fn read_response(&mut self, response: &Value) {
        self.report(Reported::from_responses(&response["usage"]));
        let output = response["output"].as_array();
        self.seen.content |= output.is_some_and(|items| !items.is_empty());
    }

    /// A later report is of the whole call, so it replaces the one before; one of fewer tokens takes none back.
    fn report(&mut self, reported: Option<Reported>) {
        let Some(later) = reported else { return };
        let earlier = self.reported.unwrap_or_default();
        let usage = if later.usage.tokens() < earlier.usage.tokens() { earlier.usage } else { later.usage };
        self.reported =
            Some(Reported { usage, input: later.input || earlier.input, output: later.output || earlier.output });
    }

    fn add_chat_content(&mut self, message: &Value) {
        for field in ["content", "refusal", "reasoning_content", "reasoning"] {
            self.add_text(&message[field]);
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.seen.content = true;
            self.add_text(&call["function"]["arguments"]);
        }
    }

    fn add_text(&mut self, text: &Value) {
        let bytes = text.as_str().map_or(0, str::len);
        self.seen.content |= bytes > 0;
        self.text_bytes += bytes as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "event: message_start\r\n\
        data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\r\n\r\n\
        : a comment\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\"}\n\n\
        data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"grün\"}}\n\n\
        data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";

    fn read(chunks: &[&[u8]]) -> Tap {
        let mut tap = Tap::new(Protocol::Messages, Shape::Events);
        for chunk in chunks {
            tap.feed(chunk);
        }
        tap.finish();
        tap
    }

    #[test]
    fn any_split_of_the_bytes_reads_the_same() {
        let bytes = STREAM.as_bytes();
        for cut in 0..bytes.len() {
            let tap = read(&[&bytes[..cut], &bytes[cut..]]);
            assert_eq!(tap.outcome(), Outcome::Ok, "cut at {cut}");
            let usage = tap.reported().unwrap().usage;
            assert_eq!((usage.input, usage.output), (9, 5), "cut at {cut}");
            assert_eq!(tap.text_bytes(), 5, "cut at {cut}");
        }
    }

    #[test]
    fn a_stream_without_its_end_mark_is_cut() {
        let end = STREAM.find("data: {\"type\":\"message_stop").unwrap();
        let tap = read(&[&STREAM.as_bytes()[..end]]);
        assert_eq!(tap.outcome(), Outcome::Cut);
        assert_eq!(tap.reported().unwrap().usage.output, 5);
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let tap = read(&[b"data: \xff\xfe{\n\n", b"\x00\n\ndata: [1,2\n\n"]);
        assert_eq!(tap.outcome(), Outcome::Malformed);
        assert_eq!(tap.reported(), None);
        assert!(tap.text_bytes() > 10, "what cannot be read still counts");
    }

    #[test]
    fn an_overlong_line_is_passed_over_and_the_next_is_read() {
        let mut tap = Tap::new(Protocol::Messages, Shape::Events);
        tap.feed(b"data: ");
        for _ in 0..=MOST_BUFFERED / 65_536 {
            tap.feed(&[b'x'; 65_536]);
        }
        tap.feed(b"\n\n");
        tap.feed(STREAM.as_bytes());
        tap.finish();
        assert_eq!((tap.outcome(), tap.reported().unwrap().usage.output), (Outcome::Ok, 5));
    }

    #[test]
    fn a_stream_is_known_by_its_first_bytes() {
        assert_eq!(Shape::of(b"\r\n: hello", Some(b"application/json")), Shape::Events);
        assert_eq!(Shape::of(b"data: {", None), Shape::Events);
        assert_eq!(Shape::of(b"{\"a\":1}", Some(b"text/html")), Shape::Json);
        assert_eq!(Shape::of(b"\n", Some(b"text/event-stream; charset=utf-8")), Shape::Events);
    }

    #[test]
    fn an_error_event_is_an_error() {
        let tap = read(&[b"data: {\"type\":\"error\",\"error\":{\"message\":\"overloaded\"}}\n\n"]);
        assert_eq!(tap.outcome(), Outcome::Error);
    }

    #[test]
    fn unknown_events_are_passed_over() {
        let odd = format!("data: {{\"type\":\"weather\",\"delta\":3}}\n\n{STREAM}");
        assert_eq!(read(&[odd.as_bytes()]).outcome(), Outcome::Ok);
    }
}
