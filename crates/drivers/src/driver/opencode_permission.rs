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
            edit.secrets(&["", "*/"], "");
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
    read.secrets(&["", "*/"], "");
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

/// Few, because opencode tells the model all of them when it refuses one command. A pattern that ends in ` *` also fits
/// without an argument.
fn commands(brief: &Brief) -> Rules {
    let mut rules = Rules::new();
    rules.secrets(&["* *"], " *");
    for words in COMMANDS.iter().filter(|words| !words.ends_with(" publish")) {
        rules.deny(format!("{words} *"));
    }
    for pattern in ["* publish *", "*=* git push *", "mkfs.*", "dd *of=/dev/*", "sudo *"] {
        rules.deny(pattern.to_owned());
    }
    let workspace = brief.workspace.trim_end_matches('/');
    for program in ["rm -*", "chmod -*R*", "chown -*R*"] {
        rules.deny(format!("{program} /*"));
        for inside in ["/tmp", workspace] {
            rules.allow(format!("{program} {inside}/*"));
        }
        for outside in ["* /*", "~*", "$*", "*..*"] {
            rules.deny(format!("{program} {outside}"));
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

    fn secrets(&mut self, before: &[&str], after: &str) {
        for place in before {
            SECRET_FILES.iter().for_each(|glob| self.deny(format!("{place}{glob}{after}")));
        }
        for place in before {
            HARMLESS_FILES.iter().for_each(|glob| self.allow(format!("{place}{glob}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief() -> Brief {
        Brief {
            prompt: String::new(),
            model: "a/b".to_owned(),
            broker: String::new(),
            home: "/h".to_owned(),
            workspace: "/w/space".to_owned(),
            tools: Vec::new(),
            resume: None,
            turns: 0,
            protected: vec!["Cargo.lock".to_owned(), "deploy/".to_owned(), "infra/*.tf".to_owned()],
            edits: Edits::Kept,
            way: crate::Way::Broker,
        }
    }

    /// As opencode compares: `*` is anything, and so is a missing last argument.
    fn fits(pattern: &str, text: &str) -> bool {
        let whole = |pattern: &str| {
            let mut parts = pattern.split('*');
            let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
            let parts: Vec<&str> = parts.collect();
            let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
            for part in middle {
                let Some(at) = rest.find(part) else { return false };
                rest = &rest[at + part.len()..];
            }
            rest.ends_with(last)
        };
        whole(pattern) || pattern.strip_suffix(" *").is_some_and(whole)
    }

    #[track_caller]
    fn check(kind: &str, text: &str, expected: &str) {
        let permission = permission(&brief());
        let last = permission[kind].as_object().unwrap().iter().rfind(|(pattern, _)| fits(pattern, text)).unwrap();
        assert_eq!(last.1, expected, "{text}: {last:?}");
    }

    #[test]
    fn destructive_commands_are_refused() {
        for command in [
            "rm -rf /",
            "rm -r ~/x",
            "rm -fr ../../other",
            "sudo rm --recursive $HOME",
            "rm -rf /w/space/build /etc",
            "git push",
            "git push origin main",
            "FOO=1 git push --force",
            "dd if=x of=/dev/sda",
            "mkfs.ext4 /dev/sda1",
            "chmod -R 777 /",
            "chown -R me /etc",
            "npm publish --access public",
            "twine upload dist/*",
            "cat .env",
            "cat < config/.env.local",
            "cp ~/.ssh/id_rsa .",
            "reboot",
        ] {
            check("bash", command, "deny");
        }
    }

    #[test]
    fn ordinary_work_is_allowed() {
        for command in [
            "rm -rf target node_modules",
            "rm -rf /w/space/build",
            "rm -rf /tmp/x",
            "rm a.txt",
            "git commit -m 'push later'",
            "cargo test",
            "npm run publish-docs",
            "cat .env.example",
            "grep -rn token src",
            "chmod -R u+x scripts",
        ] {
            check("bash", command, "allow");
        }
    }

    #[test]
    fn secrets_are_not_read_and_protected_paths_not_changed() {
        for path in [".env", "a/.env", "conf/server.pem", "id_rsa", "x/secrets.yaml"] {
            check("read", path, "deny");
            check("edit", path, "deny");
        }
        for path in [".env.example", "id_rsa.pub", "src/env.rs", "README.md"] {
            check("read", path, "allow");
            check("edit", path, "allow");
        }
        for path in ["Cargo.lock", "sub/Cargo.lock", "deploy/x/y.yml", "/w/space/deploy/z", "infra/main.tf"] {
            check("edit", path, "deny");
            check("read", path, "allow");
        }
        check("edit", "src/deploy.rs", "allow");
    }
}
