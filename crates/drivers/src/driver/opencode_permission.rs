//! The permissions that opencode is given: what a person would be asked about is refused. Pure.
//!
//! It compares whole simple commands and paths with patterns in which `*` is anything; of those that fit, the last one
//! counts. So what is refused stands after what is allowed.

use serde_json::{Map, Value, json};

use super::Brief;
use super::held::{COMMANDS, Edits, HARMLESS_FILES, SECRET_FILES};

pub(super) fn permission(brief: &Brief) -> Value {
    let mut edit = Rules::new();
    match brief.edits {
        Edits::Kept => {
            edit.secrets(&["", "*/"], &[""]);
            for pattern in brief.protected.iter().map(|pattern| pattern.trim_matches('/')).filter(|p| !p.is_empty()) {
                for place in ["", "*/"] {
                    edit.deny(format!("{place}{pattern}"));
                    edit.deny(format!("{place}{pattern}/*"));
                }
            }
        }
        Edits::Lost => edit.deny("*".to_owned()),
    }
    let mut read = Rules::new();
    read.secrets(&["", "*/"], &[""]);
    json!({
        "*": "allow",
        "read": read.0,
        "edit": edit.0,
        "bash": commands(brief).0,
        // The sandbox says which folders there are.
        "external_directory": "allow",
        // Nobody is there to answer, and there is no network.
        "question": "deny",
        "webfetch": "deny",
        "websearch": "deny",
        "codesearch": "deny",
        "doom_loop": "deny",
    })
}

fn commands(brief: &Brief) -> Rules {
    let mut rules = Rules::new();
    rules.secrets(&["* ", "* */", "*<", "*<*/", "*@", "*="], &["", " *"]);
    for (place, words) in COMMANDS.iter().flat_map(|words| ["", "sudo ", "env ", "*=* "].map(|place| (place, words))) {
        rules.deny(format!("{place}{words}"));
        rules.deny(format!("{place}{words} *"));
    }
    rules.deny("mkfs.*".to_owned());
    rules.deny("dd *of=/dev/*".to_owned());
    let workspace = brief.workspace.trim_end_matches('/');
    for program in ["rm -*r*", "rm -*R*", "rm --recursive*", "chmod -*R*", "chown -*R*", "chgrp -*R*"] {
        for place in ["", "sudo "] {
            rules.deny(format!("{place}{program} /*"));
            for inside in ["/tmp", workspace] {
                rules.allow(format!("{place}{program} {inside}/*"));
                rules.deny(format!("{place}{program} {inside}/* /*"));
            }
            for outside in ["~*", "$HOME*", "${HOME}*", "..*", "*/..*"] {
                rules.deny(format!("{place}{program} {outside}"));
            }
        }
    }
    rules
}

/// Patterns and what is said to them; later ones count more.
struct Rules(Map<String, Value>);

impl Rules {
    fn new() -> Self {
        Self(Map::from_iter([("*".to_owned(), json!("allow"))]))
    }

    fn allow(&mut self, pattern: String) {
        self.0.insert(pattern, json!("allow"));
    }

    fn deny(&mut self, pattern: String) {
        self.0.insert(pattern, json!("deny"));
    }

    fn secrets(&mut self, before: &[&str], after: &[&str]) {
        for place in before {
            for end in after {
                SECRET_FILES.iter().for_each(|glob| self.deny(format!("{place}{glob}{end}")));
            }
        }
        for place in before {
            HARMLESS_FILES.iter().for_each(|glob| self.allow(format!("{place}{glob}")));
        }
    }
}
