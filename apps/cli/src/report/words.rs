//! Times, durations, money and sizes in the words people use. Pure: the clock is an argument.

use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// "2 min ago".
pub(crate) fn ago(now: Timestamp, then: Timestamp) -> String {
    match now.as_second().saturating_sub(then.as_second()) {
        i64::MIN..5 => "just now".to_owned(),
        seconds @ 5..60 => format!("{seconds} s ago"),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds @ 86_400..172_800 => format!("{} day ago", seconds / 86_400),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}

/// "1:05" or "2:03:04": hours only when there are any.
pub(crate) fn clock(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.as_second().saturating_sub(from.as_second()).max(0);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// "12 s", "3 min 20 s", "2 h 5 min", "4 days".
pub(crate) fn duration(from: Timestamp, to: Timestamp) -> String {
    match to.as_second().saturating_sub(from.as_second()).max(0) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds @ 3_600..172_800 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// The same for a number of seconds.
pub(crate) fn seconds(length: i64) -> String {
    let end = Timestamp::from_second(length.max(0)).unwrap_or(Timestamp::UNIX_EPOCH);
    duration(Timestamp::UNIX_EPOCH, end)
}

/// "in 5 min", or "now".
pub(crate) fn until(now: Timestamp, then: Timestamp) -> String {
    if then.as_second() <= now.as_second() { "now".to_owned() } else { format!("in {}", duration(now, then)) }
}

/// Fills a text up to a number of columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// "$0.0123" while small, "$12.30" when not.
pub(crate) fn money(usd: f64) -> String {
    if usd == 0.0 {
        "$0.00".to_owned()
    } else if usd < 0.0001 {
        "<$0.0001".to_owned()
    } else if usd < 1.0 {
        format!("${usd:.4}")
    } else {
        format!("${usd:.2}")
    }
}

/// "950", "12.3k", "1.2M".
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1_000.0),
        1_000_000.. => format!("{:.1}M", count as f64 / 1_000_000.0),
    }
}

/// "1 file", "3 files".
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Cuts a line to a number of columns, with `…` where something is missing.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let mut cut = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used >= columns {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// Breaks a line at blanks so that no piece is wider than `columns`, unless a single word is. Colours take no room.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a last line");
        if line.is_empty() {
            line.push_str(word);
        } else if shown_width(line) + 1 + shown_width(word) <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn shown_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(UnicodeWidthStr::width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        let said = [0, 30, 130, 7_300, 90_000, 400_000].map(|age| ago(at(age), at(0)));
        assert_eq!(said, ["just now", "30 s ago", "2 min ago", "2 h ago", "1 day ago", "4 days ago"]);
        assert_eq!(ago(at(0), at(99)), "just now");
        assert_eq!([59, 65, 3_725].map(|length| clock(at(0), at(length))), ["0:59", "1:05", "1:02:05"]);
        assert_eq!([9, 200, 7_500].map(|length| duration(at(0), at(length))), ["9 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn money_and_tokens_are_short() {
        assert_eq!([0.0, 0.00001, 0.01234, 12.3].map(money), ["$0.00", "<$0.0001", "$0.0123", "$12.30"]);
        assert_eq!([950, 12_345, 1_200_000].map(tokens), ["950", "12.3k", "1.2M"]);
    }

    #[test]
    fn wide_letters_count_twice() {
        assert_eq!(fit("日本語テキスト", 7), "日本語…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    }
}
