//! Mends small faults of the library's drawings: crossings drawn where a line
//! only turns, round boxes with parentheses for corners, spaces at line ends.
//! Never moves anything.

pub(super) fn tidy(drawing: &str) -> String {
    let rows: Vec<Vec<char>> = drawing.lines().map(|line| line.chars().collect()).collect();
    // A wide character shifts the columns after it, so neighbours are only looked
    // at in rows where one character is one column.
    let narrow: Vec<bool> = rows.iter().map(|row| row.iter().all(|c| is_narrow(*c))).collect();
    let at = |y: usize, x: usize| {
        let row = rows.get(y).filter(|_| narrow.get(y).copied().unwrap_or(false));
        row.and_then(|row| row.get(x)).copied().unwrap_or(' ')
    };
    let mut text = String::with_capacity(drawing.len());
    for (y, row) in rows.iter().enumerate() {
        let mended: String = row
            .iter()
            .enumerate()
            .map(|(x, c)| {
                let around = Around {
                    up: y.checked_sub(1).map_or(' ', |y| at(y, x)),
                    down: at(y + 1, x),
                    left: x.checked_sub(1).map_or(' ', |x| row[x]),
                    right: row.get(x + 1).copied().unwrap_or(' '),
                };
                if narrow[y] { mend(*c, around) } else { *c }
            })
            .collect();
        text.push_str(mended.trim_end());
        text.push('\n');
    }
    text
}

struct Around {
    up: char,
    down: char,
    left: char,
    right: char,
}

fn mend(c: char, around: Around) -> char {
    match c {
        '(' if around.right == '─' && around.down == '│' => '╭',
        '(' if around.right == '─' && around.up == '│' => '╰',
        ')' if around.left == '─' && around.down == '│' => '╮',
        ')' if around.left == '─' && around.up == '│' => '╯',
        '┼' => crossing(&around),
        other => other,
    }
}

/// A crossing keeps only the arms that meet something.
fn crossing(around: &Around) -> char {
    let meets = |c: char| is_line(c);
    match (meets(around.up), meets(around.down), meets(around.left), meets(around.right)) {
        (false, true, false, true) => '┌',
        (false, true, true, false) => '┐',
        (true, false, false, true) => '└',
        (true, false, true, false) => '┘',
        (false, true, true, true) => '┬',
        (true, false, true, true) => '┴',
        (true, true, false, true) => '├',
        (true, true, true, false) => '┤',
        _ => '┼',
    }
}

fn is_line(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{257f}' | '▲' | '▼' | '◄' | '►' | '△' | '▽' | '◁' | '▷' | '◇' | '◆')
}

fn is_narrow(c: char) -> bool {
    c < '\u{300}' || is_line(c) || matches!(c, '●' | '◎' | '…' | '–' | '—' | '’' | '“' | '”')
}

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn a_crossing_without_neighbours_becomes_a_corner() {
        let drawn = "  │\n┼─┼─┼\n┐   ┌\n";
        assert_eq!(tidy(drawn), "  │\n┌─┴─┐\n┐   ┌\n");
    }

    #[test]
    fn a_real_crossing_stays() {
        assert_eq!(tidy(" │ \n─┼─\n │ \n"), " │\n─┼─\n │\n");
    }

    #[test]
    fn a_round_box_has_round_corners() {
        assert_eq!(tidy("(──)\n│ a│\n(──)\n"), "╭──╮\n│ a│\n╰──╯\n");
    }
}
