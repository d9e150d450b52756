//! A grid of characters that grows as it is drawn on. Wide characters take two
//! columns, and columns are what every coordinate counts.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands after a wide character and prints nothing.
const TAKEN: char = '\0';

#[derive(Default)]
pub(super) struct Canvas {
    rows: Vec<Vec<char>>,
}

impl Canvas {
    pub(super) fn put(&mut self, y: usize, x: usize, text: &str) {
        let mut x = x;
        for c in text.chars() {
            let width = c.width().unwrap_or(0);
            if width == 0 {
                continue;
            }
            self.set(y, x, c);
            if width == 2 {
                self.set(y, x + 1, TAKEN);
            }
            x += width;
        }
    }

    pub(super) fn centre(&mut self, y: usize, x: usize, width: usize, text: &str) {
        self.put(y, x + width.saturating_sub(text.width()) / 2, text);
    }

    /// A horizontal line from `from` to `to`, both included; crosses what is vertical.
    pub(super) fn across(&mut self, y: usize, from: usize, to: usize) {
        for x in from..=to {
            let c = if self.get(y, x) == '│' { '┼' } else { '─' };
            self.set(y, x, c);
        }
    }

    /// A vertical line from `from` to `to`, both included; crosses what is horizontal.
    pub(super) fn down(&mut self, x: usize, from: usize, to: usize) {
        for y in from..=to {
            let c = if self.get(y, x) == '─' { '┼' } else { '│' };
            self.set(y, x, c);
        }
    }

    pub(super) fn set(&mut self, y: usize, x: usize, c: char) {
        while self.rows.len() <= y {
            self.rows.push(Vec::new());
        }
        let row = &mut self.rows[y];
        if row.len() <= x {
            row.resize(x + 1, ' ');
        }
        row[x] = c;
    }

    pub(super) fn finish(self) -> super::Drawing {
        let lines: Vec<String> = self
            .rows
            .iter()
            .map(|row| row.iter().filter(|c| **c != TAKEN).collect::<String>().trim_end().to_owned())
            .collect();
        let width = lines.iter().map(|line| line.width()).max().unwrap_or(0);
        super::Drawing { text: lines.join("\n") + "\n", width }
    }

    fn get(&self, y: usize, x: usize) -> char {
        self.rows.get(y).and_then(|row| row.get(x)).copied().unwrap_or(' ')
    }
}

/// Breaks text at spaces into lines of at most `width` columns; a longer word stays whole.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}
