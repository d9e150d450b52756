//! Gives the component behind a decision a name: `Authenticated?` is decided by
//! an `AuthenticationCheck`.
//!
//! The rule: take the words of the label, drop the words that only make it a
//! question (`is`, `has`, `the`, …), turn the last word from a quality into the
//! thing it is about (`authenticated` → `authentication`, `available` →
//! `availability`, `verified` → `verification`, …; other words stay), join all
//! of them with capitals, and add `Check` unless the label already says so.

const QUESTION_WORDS: [&str; 33] = [
    "is", "are", "was", "were", "has", "have", "had", "does", "do", "did", "can", "could", "should", "will", "would",
    "may", "must", "the", "a", "an", "any", "there", "it", "of", "to", "already", "still", "be", "been", "this",
    "that", "s", "if",
];

/// Endings of a quality and of the noun it belongs to; the first that fits is used.
const ENDINGS: [(&str, &str); 14] = [
    ("ified", "ification"),
    ("ized", "ization"),
    ("ised", "isation"),
    ("mitted", "mission"),
    ("ated", "ation"),
    ("eted", "etion"),
    ("uted", "ution"),
    ("cted", "ction"),
    ("able", "ability"),
    ("ible", "ibility"),
    ("ured", "uration"),
    ("pired", "piry"),
    ("proved", "proval"),
    ("oved", "oval"),
];

/// Words whose noun follows no ending.
const IRREGULAR: [(&str, &str); 8] = [
    ("valid", "validity"),
    ("invalid", "validity"),
    ("exists", "existence"),
    ("exist", "existence"),
    ("paid", "payment"),
    ("allowed", "permission"),
    ("permitted", "permission"),
    ("ready", "readiness"),
];

/// Words that end like a quality and are none.
const THINGS: [&str; 9] = ["table", "variable", "cable", "stable", "enable", "bible", "captured", "secured", "insured"];

/// The name of the component that takes a decision; `id` serves when the label has no words.
pub(crate) fn check_name(label: &str, id: &str) -> String {
    let mut words = words(label);
    let significant = |word: &String| !QUESTION_WORDS.contains(&word.to_lowercase().as_str());
    if words.iter().any(significant) {
        words.retain(significant);
    }
    if words.is_empty() {
        words = self::words(id);
    }
    join_logged_in(&mut words);
    if let Some(last) = words.last_mut() {
        *last = noun(last);
    }
    let name: String = words.iter().map(|word| capitalised(word)).collect();
    if name.to_lowercase().ends_with("check") { name } else { format!("{name}Check") }
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// "logged in" and "signed in" are one quality written in two words.
fn join_logged_in(words: &mut Vec<String>) {
    let lower = |word: &String| word.to_lowercase();
    let joined = match words.as_slice() {
        [.., verb, particle] => match (lower(verb).as_str(), lower(particle).as_str()) {
            ("logged", "in") => Some("login"),
            ("logged", "out") => Some("logout"),
            ("signed", "in") => Some("signin"),
            ("signed", "up") => Some("signup"),
            _ => None,
        },
        _ => None,
    };
    if let Some(word) = joined {
        words.truncate(words.len() - 2);
        words.push(word.to_owned());
    }
}

fn noun(word: &str) -> String {
    let lower = word.to_lowercase();
    if THINGS.contains(&lower.as_str()) {
        return word.to_owned();
    }
    if let Some((_, noun)) = IRREGULAR.iter().find(|(quality, _)| *quality == lower) {
        return (*noun).to_owned();
    }
    let ending = ENDINGS.iter().find(|(ending, _)| lower.len() > ending.len() && lower.ends_with(ending));
    match ending {
        Some((ending, noun)) => format!("{}{noun}", &lower[..lower.len() - ending.len()]),
        None => word.to_owned(),
    }
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn a_decision_is_named_after_the_thing_it_checks() {
        for (label, name) in [
            ("Authenticated?", "AuthenticationCheck"),
            ("Is the user authenticated?", "UserAuthenticationCheck"),
            ("Logged in?", "LoginCheck"),
            ("Is user logged in?", "UserLoginCheck"),
            ("Stock available?", "StockAvailabilityCheck"),
            ("Email verified?", "EmailVerificationCheck"),
            ("Authorized?", "AuthorizationCheck"),
            ("Order submitted?", "OrderSubmissionCheck"),
            ("Input valid?", "InputValidityCheck"),
            ("Valid?", "ValidityCheck"),
            ("Does the file exist?", "FileExistenceCheck"),
            ("Token expired?", "TokenExpiryCheck"),
            ("Request approved?", "RequestApprovalCheck"),
            ("Connected?", "ConnectionCheck"),
            ("Cancelled?", "CancelledCheck"),
            ("score > 80?", "Score80Check"),
            ("Health check", "HealthCheck"),
            ("Is it?", "IsItCheck"),
            ("In table?", "InTableCheck"),
            ("¿Usuario válido?", "UsuarioVálidoCheck"),
        ] {
            assert_eq!(check_name(label, "B"), name, "{label}");
        }
    }

    #[test]
    fn a_label_without_words_falls_back_to_the_id() {
        assert_eq!(check_name("?", "gate_1"), "Gate1Check");
    }
}
