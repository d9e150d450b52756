//! What earlier iterations towards a goal said, for the next one: the last ones whole, older ones in a line each. Pure.

use domain::Reflection;

use crate::rounds::clip;

/// Reflections that are told whole.
const WHOLE: usize = 3;
/// Bytes of an older one.
const LINE: usize = 200;

/// Oldest first.
pub(crate) fn condensed(reflections: &[Reflection]) -> Vec<String> {
    let old = reflections.len().saturating_sub(WHOLE);
    let told = |(at, said): (usize, &Reflection)| if at < old { line(at + 1, said) } else { whole(at + 1, said) };
    reflections.iter().enumerate().map(told).collect()
}

fn line(number: usize, said: &Reflection) -> String {
    let words = said.content.split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&format!("iteration {number} ({} %): {words}", said.progress), LINE)
}

fn whole(number: usize, said: &Reflection) -> String {
    let mut text = format!("iteration {number} ({} %): {}", said.progress, said.content.trim());
    if !said.issues.is_empty() {
        text.push_str(&format!("\nIn the way: {}", said.issues.join("; ")));
    }
    if !said.next_action.trim().is_empty() {
        text.push_str(&format!("\nNext: {}", said.next_action.trim()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_three_are_whole_and_older_ones_are_a_line_each() {
        let said = |number: u8| Reflection {
            goal_achieved: false,
            progress: number,
            content: format!("tried {number}\n{}", "long words ".repeat(50)),
            next_action: format!("then {number}"),
            requires_user_intervention: false,
            issues: vec!["no key".to_owned()],
        };
        let all: Vec<Reflection> = (1..=15).map(said).collect();
        let told = condensed(&all);
        assert_eq!(told.len(), 15);
        for (short, number) in told[..12].iter().zip(1..) {
            assert!(short.starts_with(&format!("iteration {number} ({number} %): tried {number} long")), "{short}");
            assert!(short.len() <= LINE && !short.contains('\n'), "{short}");
        }
        for (text, number) in told[12..].iter().zip(13..) {
            assert!(text.ends_with(&format!("\nIn the way: no key\nNext: then {number}")), "{text}");
            assert!(text.len() > 500, "{text}");
        }
    }
}
