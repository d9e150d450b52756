//! Recordings that were damaged in many ways, the same ways at every run: whatever a program prints, its driver neither
//! panics nor makes much of little.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use domain::AgentProgram;
use drivers::driver::{self, Act, Brief, Word};

/// Damaged recordings per driver.
const MANY: u64 = 240;
/// What may follow from one line: the recordings have at most a dozen entries in a list, and each may begin and end a
/// turn and a tool.
const MOST_ACTS: usize = 64;

/// Numbers that look random and are the same at every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides.max(1)).unwrap()).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

type Lines = Vec<Vec<u8>>;

fn recordings(folder: &str) -> Vec<Lines> {
    let folder = format!("{}/tests/transcripts/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let lines = |bytes: Vec<u8>| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    paths.into_iter().map(|path| lines(std::fs::read(path).unwrap())).collect()
}

/// Each damage to a recording; `at` is a line of it.
const DAMAGES: [fn(&mut Lines, usize, &mut Dice); 10] =
    [truncated, unknown_type, huge, replaced, not_text, beside, twice, swapped, nested, missing];

fn truncated(lines: &mut Lines, at: usize, dice: &mut Dice) {
    let length = dice.roll(lines[at].len());
    lines[at].truncate(length);
}

fn unknown_type(lines: &mut Lines, at: usize, dice: &mut Dice) {
    let text = String::from_utf8_lossy(&lines[at]).into_owned();
    let name = dice.pick(&["\"type\":\"", "\"method\":\"", "\"sessionUpdate\":\"", "\"status\":\"", "\"subtype\":\""]);
    lines[at] = text.replace(*name, &format!("{name}never/heard/")).into_bytes();
}

fn huge(lines: &mut Lines, at: usize, dice: &mut Dice) {
    let text = String::from_utf8_lossy(&lines[at]).into_owned();
    let letters = *dice.pick(&["x", "ü", "\\u0000", "\\n", "🦀"]);
    lines[at] = text.replacen(":\"", &format!(":\"{}", letters.repeat(100_000)), 3).into_bytes();
}

fn replaced(lines: &mut Lines, at: usize, dice: &mut Dice) {
    let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(&lines[at]) else { return };
    let with = dice.pick(&[
        "null",
        "[]",
        "{}",
        "-1",
        "18446744073709551615",
        "1e308",
        "\"\"",
        "true",
        "[[[]]]",
        "{\"id\":{}}",
    ]);
    replace(&mut value, &serde_json::from_str(with).unwrap(), dice);
    lines[at] = value.to_string().into_bytes();
}

/// Goes down by chance and puts something else where it stops; sometimes in place of all its neighbours.
fn replace(value: &mut serde_json::Value, with: &serde_json::Value, dice: &mut Dice) {
    let stop = dice.roll(6) == 0;
    match value {
        serde_json::Value::Object(fields) if !stop && !fields.is_empty() => {
            let all = dice.roll(8) == 0;
            let chosen = dice.roll(fields.len());
            for (_, (_, field)) in fields.iter_mut().enumerate().filter(|(at, _)| all || *at == chosen) {
                replace(field, with, dice);
            }
        }
        serde_json::Value::Array(entries) if !stop && !entries.is_empty() => {
            let chosen = dice.roll(entries.len());
            replace(&mut entries[chosen], with, dice);
        }
        other => *other = with.clone(),
    }
}

fn not_text(lines: &mut Lines, at: usize, dice: &mut Dice) {
    for _ in 0..3 {
        let place = dice.roll(lines[at].len() + 1);
        let byte = *dice.pick(&[0xff, 0xc3, 0x80, 0xed, 0x00]);
        lines[at].insert(place, byte);
    }
}

fn beside(lines: &mut Lines, at: usize, dice: &mut Dice) {
    let error = b"(node:7) Warning: something is deprecated\x1b[0m";
    let place = dice.roll(lines[at].len() + 1);
    let rest = lines[at].split_off(place);
    lines[at].extend_from_slice(error);
    lines[at].extend(rest);
    lines.insert(at, error.to_vec());
}

fn twice(lines: &mut Lines, at: usize, dice: &mut Dice) {
    let (line, place) = (lines[at].clone(), dice.roll(lines.len()));
    lines.insert(place, line);
}

fn swapped(lines: &mut Lines, at: usize, dice: &mut Dice) {
    let other = dice.roll(lines.len());
    lines.swap(at, other);
}

fn nested(lines: &mut Lines, at: usize, dice: &mut Dice) {
    let depth = *dice.pick(&[10, 100, 127, 10_000, 200_000]);
    let text = String::from_utf8_lossy(&lines[at]).into_owned();
    let nest = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    lines[at] = text.replacen(":{", &format!(":{{\"nest\":{nest},"), 1).into_bytes();
}

fn missing(lines: &mut Lines, at: usize, _dice: &mut Dice) {
    lines.remove(at);
}

fn damaged(recordings: &[Lines], seed: u64) -> Lines {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut lines = dice.pick(recordings).clone();
    for _ in 0..=dice.roll(8) {
        let at = dice.roll(lines.len());
        dice.pick(&DAMAGES)(&mut lines, at, &mut dice);
    }
    lines
}

#[track_caller]
fn check(program: &str, folder: &str) {
    let program: AgentProgram = program.parse().unwrap();
    let recordings = recordings(folder);
    for seed in 1..=MANY {
        let lines = damaged(&recordings, seed);
        let brief = Brief {
            prompt: "Do it".to_owned(),
            model: "scripted/demo".to_owned(),
            broker: "http://127.0.0.1:1".to_owned(),
            home: "/home/ada/session".to_owned(),
            workspace: "/home/ada/workspace".to_owned(),
            tools: vec!["holdpoint".to_owned()],
            resume: seed.is_multiple_of(2).then(|| "earlier".to_owned()),
            turns: 3,
        };
        let (_, mut talk) = driver::start(&program, &brief).unwrap();
        for (now, line) in (0..).zip(&lines) {
            let acts = talk.line(&String::from_utf8_lossy(line), now);
            assert!(acts.len() <= MOST_ACTS, "recording {seed}: {} acts of one line", acts.len());
            for act in acts {
                if let Act::Ask(asked) = act {
                    let word = if now % 2 == 0 { Word::Allow } else { Word::Deny("no".to_owned()) };
                    assert!(talk.word(&asked, &word).len() <= 2, "one answer, and its reason at most");
                }
            }
        }
        assert!(talk.turns() >= 3, "turns are never taken back");
    }
}

#[test]
fn damaged_recordings_of_claude_are_taken_for_what_they_are() {
    check("claude", "claude");
}

#[test]
fn damaged_recordings_of_codex_are_taken_for_what_they_are() {
    check("codex", "codex");
}

#[test]
fn damaged_recordings_of_acp_agents_are_taken_for_what_they_are() {
    check("acp:some-agent", "acp");
}

#[test]
fn damaged_lines_of_a_plain_command_are_its_words() {
    check("command:./agent.sh", "claude");
}
