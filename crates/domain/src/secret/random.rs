//! Whether a value is one that a machine or a careful person made up, or a word, a name, a placeholder.

/// Bits per letter, by how often each letter occurs.
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let part = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(part).sum()
}

/// Whether letters and figures are mixed as a machine mixes them.
pub(super) fn is_token(value: &[u8]) -> bool {
    if value.len() < 16 || is_placeholder(value) || is_uuid(value) {
        return false;
    }
    let hex = value.iter().all(u8::is_ascii_hexdigit);
    if hex {
        return value.len() >= 32 && entropy(value) >= 3.0 && value.iter().any(u8::is_ascii_alphabetic);
    }
    entropy(value) >= 3.5 && runs(value).any(is_mixed_run)
}

/// Whether it is a password as people are told to make them: of three kinds of characters, none of them a word's.
pub(super) fn is_password(value: &[u8]) -> bool {
    if !(10..=128).contains(&value.len()) || value.iter().any(u8::is_ascii_whitespace) || is_placeholder(value) {
        return false;
    }
    if is_token(value) {
        return true;
    }
    let kinds = [
        value.iter().any(u8::is_ascii_lowercase),
        value.iter().any(u8::is_ascii_uppercase),
        value.iter().any(u8::is_ascii_digit),
        value.iter().any(|byte| b"!@#$%^&*?~+".contains(byte)),
    ];
    kinds.iter().filter(|kind| **kind).count() == 4 && entropy(value) >= 3.0
}

/// Letters and figures without anything between them.
fn runs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| !byte.is_ascii_alphanumeric())
}

/// Figures inside and not only behind: `refresh2024` is a name.
fn is_mixed_run(run: &[u8]) -> bool {
    let body = run.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    let body = &run[..body];
    let digits = body.iter().filter(|byte| byte.is_ascii_digit()).count();
    let changes = body.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    body.len() >= 10 && digits >= 2 && changes >= 3
}

fn is_uuid(value: &[u8]) -> bool {
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b'-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| part.iter().all(u8::is_ascii_hexdigit))
}

const PARTS: [&str; 24] = [
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "dummy",
    "redacted",
    "insert",
    "replace",
    "sample",
    "xxxx",
    "****",
    "....",
    "1234567",
    "abcdef",
    "0000",
    "your-",
    "your_",
    "yourkey",
    "deadbeef",
    "cafebabe",
    "foobar",
    "process.env",
    "lorem",
];
const WORDS: [&str; 21] = [
    "test",
    "tests",
    "testing",
    "fake",
    "your",
    "my",
    "mock",
    "todo",
    "secret",
    "password",
    "demo",
    "none",
    "null",
    "undefined",
    "invalid",
    "expected",
    "expired",
    "default",
    "hunter2",
    "s3cret",
    "stub",
];

/// Whether it says of itself that it is none.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    let opens = ["$", "{", "<", "%", "@", "&", "[", "!", "(", "./", "/"].iter().any(|open| text.starts_with(open));
    let inside =
        ["${", "{{", "}}", "<%", "$(", "`", "://", "#{", "%s", "%v", "%d"].iter().any(|part| text.contains(part));
    let parts = PARTS.iter().any(|part| text.contains(part));
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word));
    let dull = value.iter().all(|byte| *byte == value[0]) || entropy(value) < 2.0;
    opens || inside || parts || words || dull
}
