//! Words that programmers use for one another. Pure.

/// Every word of a line may stand for every other of it.
const GROUPS: &[&str] = &[
    "delete remove drop erase discard destroy purge prune clean",
    "create make new add insert build generate",
    "get fetch load read retrieve obtain receive",
    "set update write change modify save store persist put",
    "auth authenticate login signin credential session",
    "config configuration setting option preference",
    "error failure fail exception fault broken wrong",
    "retry again backoff attempt repeat retries",
    "user account member customer person",
    "db database sql table",
    "check validate verify ensure assert valid",
    "parse decode deserialize interpret",
    "serialize encode format marshal dump",
    "start launch begin boot init initialize setup",
    "stop shutdown end terminate kill cancel abort close",
    "queue job task worker background",
    "cache memo memoize remember",
    "list array vector collection",
    "directory folder dir",
    "message mail email notification notify alert tell inform",
    "limit throttle quota cap rate maximum slow",
    "sort order rank",
    "search lookup query find locate",
    "time date timestamp clock when calendar",
    "expire expiry expired ttl timeout deadline stale old",
    "lock mutex semaphore exclusive",
    "concurrent parallel simultaneous thread",
    "url link uri address",
    "image picture photo thumbnail avatar",
    "price cost amount money sum total",
    "pay payment charge bill invoice collect",
    "permission role access authorize allow allowed forbid right",
    "password secret passphrase",
    "token key",
    "encrypt cipher crypto decrypt",
    "compress zip gzip pack shrink",
    "hash digest checksum fingerprint",
    "log trace record audit",
    "duplicate dedupe unique twice same",
    "merge combine join unite",
    "split divide cut partition chunk",
    "copy clone duplicate",
    "show render display draw paint",
    "convert transform translate map",
    "upload send post submit",
    "download receive fetch",
    "count number amount quantity",
    "undo revert rollback restore",
    "rename move",
    "test spec",
    "random jitter",
    "child children descendant",
    "width size length height",
    "distance near nearby nearest",
    "text string",
    "shipping delivery parcel ship deliver",
    "discount coupon voucher rebate",
    "refund return reimburse",
    "stock inventory warehouse",
    "cart basket",
    "delimiter separator",
    "csv spreadsheet excel tabular",
    "refresh renew fresh",
    "ack acknowledge acknowledgement",
    "press push click tap",
    "token bearer jwt",
    "idle inactive",
    "bounce undeliverable",
    "group cluster bucket",
    "marker pin",
    "offline disconnected",
    "leader primary master",
    "replica standby secondary follower",
    "deploy release publish rollout",
    "changelog release notes",
    "typo misspell misspelled",
    "item product article goods line",
    "round rounding",
    "visit session",
    "request call",
    "client caller consumer",
    "wait delay sleep pause timeout",
    "segment packet frame",
    "turn rotate",
    "estimate guess detect",
    "simultaneous concurrent once parallel",
];

/// Other words for a word, without the word itself.
pub(crate) fn of(word: &str) -> Vec<&'static str> {
    let stem = crude(word);
    let mut found = Vec::new();
    for group in GROUPS {
        if group.split(' ').any(|other| crude(other) == stem) {
            found.extend(group.split(' ').filter(|other| crude(other) != stem));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Good enough to find `expired` and `expires` under `expire`; the index itself stems properly.
fn crude(word: &str) -> &str {
    for ending in ["ings", "ing", "ies", "ied", "ers", "ed", "es", "er", "s", "e", "y"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
        {
            return stem;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_any_form_finds_its_group() {
        for word in ["expires", "expired", "expire"] {
            assert!(of(word).contains(&"timeout"), "{word}: {:?}", of(word));
        }
        assert!(of("deleting").contains(&"remove") && !of("delete").contains(&"delete"));
        assert_eq!(of("mermaid"), Vec::<&str>::new());
    }
}
