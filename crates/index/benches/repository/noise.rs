//! Thousands of other files: ordinary code of a large company in six languages, in the words everybody uses.

use std::fmt::Write as _;
use std::path::Path;

const DOMAINS: &[&str] = &[
    "order",
    "invoice",
    "catalog",
    "shipment",
    "customer",
    "session",
    "media",
    "search",
    "notification",
    "report",
    "inventory",
    "price",
    "payment",
    "audit",
    "schedule",
    "webhook",
    "export",
    "import",
    "telemetry",
    "flag",
    "translation",
    "template",
    "location",
    "chat",
    "calendar",
    "document",
    "permission",
    "backup",
    "device",
    "sensor",
    "ledger",
    "tax",
    "loyalty",
    "subscription",
    "recommendation",
    "review",
    "crawler",
    "queue",
    "cache",
    "gateway",
    "map",
    "card",
    "basket",
    "voucher",
    "mail",
    "token",
    "note",
    "photo",
    "widget",
    "database",
];
const PARTS: &[&str] = &[
    "repository",
    "controller",
    "validator",
    "serializer",
    "mapper",
    "client",
    "worker",
    "store",
    "events",
    "metrics",
    "config",
    "errors",
    "migration",
    "command",
    "handler",
    "policy",
    "factory",
    "adapter",
    "planner",
    "view",
];
const VERBS: &[&str] = &[
    "load", "save", "check", "send", "merge", "expire", "retry", "group", "round", "count", "reserve", "release",
    "detect", "suggest", "rotate", "promote", "charge", "wait", "ignore", "schedule", "export", "refresh", "resolve",
    "estimate", "write", "cancel", "sort", "filter", "cache", "publish",
];
const NOUNS: &[&str] = &[
    "item", "address", "version", "request", "attempt", "window", "batch", "record", "total", "delivery", "limit",
    "message", "timeout", "section", "release", "entry", "column", "marker", "receipt", "day", "owner", "bank",
    "product", "device", "label", "client", "picture", "word", "step", "conflict",
];
const DOCS: &[&str] = &[
    "Tries again later when the upstream is slow, at most {n} times.",
    "Returns nothing when the {noun} is not there any more.",
    "The caller holds the lock. Never blocks for longer than the deadline.",
    "Keeps the {noun} of every {domain} in memory until it expires.",
    "Checks that the {noun} is valid before it is written to the database.",
    "Sends a message to the owner of the {domain} when the limit is reached.",
    "Old versions are removed once a day by the nightly job.",
    "Groups by day, sorted by the time of the last request.",
    "A failed {noun} is put back into the queue.",
    "Rounds to whole cents; the rest goes to the last {noun}.",
    "Users without permission see an empty list.",
    "Used by the mobile clients that send more than one {noun} at a time.",
];

/// Small, fast and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }
}

fn title(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// Writes `count` files beneath `root`.
pub(crate) fn write(root: &Path, count: usize) {
    for number in 0..count {
        let mut dice = Dice(u64::try_from(number).unwrap_or_default() * 7_919 + 17);
        let (path, text) = file(number, &mut dice);
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    }
}

type Maker = fn(&mut Dice, &str, &str, usize) -> String;

fn file(number: usize, dice: &mut Dice) -> (String, String) {
    let (domain, part) = (DOMAINS[number % DOMAINS.len()], PARTS[number / DOMAINS.len() % PARTS.len()]);
    let round = number / (DOMAINS.len() * PARTS.len());
    let area = ["core", "edge", "admin", "mobile", "legacy", "labs"][round % 6];
    let functions = 3 + dice.roll(9);
    let (folder, ending, make): (&str, &str, Maker) = match number % 7 {
        0 => ("services", "rs", rust),
        1 => ("web/src", "ts", script),
        2 => ("analytics", "py", python),
        3 => ("platform", "go", go),
        4 => ("backoffice/src/main/java", "java", java),
        5 => ("firmware/src", "c", c),
        _ => ("tools", "js", javascript),
    };
    let name = if ending == "java" { format!("{}{}", title(domain), title(part)) } else { format!("{domain}_{part}") };
    (format!("{folder}/{area}/{domain}/{name}.{ending}"), make(dice, domain, part, functions))
}

fn doc(dice: &mut Dice, domain: &str) -> String {
    let text = dice.of(DOCS).replace("{noun}", dice.of(NOUNS)).replace("{domain}", domain);
    text.replace("{n}", &(2 + dice.roll(9)).to_string())
}

fn rust(dice: &mut Dice, domain: &str, part: &str, functions: usize) -> String {
    let kind = format!("{}{}", title(domain), title(part));
    let mut text =
        format!("//! The {part} of the {domain} service. {}\n\nuse crate::prelude::*;\n\n", doc(dice, domain));
    let _ = write!(
        text,
        "/// {}\npub struct {kind} {{\n    pool: Pool,\n    limit: usize,\n}}\n\nimpl {kind} {{\n",
        doc(dice, domain)
    );
    for at in 0..functions {
        let (verb, noun) = (dice.of(VERBS), dice.of(NOUNS));
        let _ = write!(
            text,
            "    /// {}\n    pub async fn {verb}_{noun}_{at}(&self, id: Id) -> Result<Vec<{}>, Error> {{\n        let rows = self.pool.query(\"SELECT * FROM {domain}_{noun} WHERE id = $1\", &[&id]).await?;\n        let mut found = Vec::new();\n        for row in rows.into_iter().take(self.limit) {{\n            if row.{}_at.is_some() {{\n                found.push(row.try_into()?);\n            }}\n        }}\n        Ok(found)\n    }}\n\n",
            doc(dice, domain),
            title(noun),
            dice.of(VERBS),
        );
    }
    text + "}\n"
}

fn script(dice: &mut Dice, domain: &str, part: &str, functions: usize) -> String {
    let mut text =
        format!("import {{ api }} from \"../../api\";\nimport type {{ {} }} from \"./types\";\n\n", title(domain));
    for at in 0..functions {
        let (verb, noun) = (dice.of(VERBS), dice.of(NOUNS));
        let _ = write!(
            text,
            "/** {} */\nexport async function {verb}{}{at}({domain}: {}, signal?: AbortSignal): Promise<number> {{\n  const answer = await api.post(`/{domain}/{part}/${{{domain}.id}}/{noun}`, {{ signal }});\n  if (!answer.ok) {{\n    throw new Error(\"the {noun} could not be changed\");\n  }}\n  return answer.body.{noun}s.length;\n}}\n\n",
            doc(dice, domain),
            title(noun),
            title(domain),
        );
    }
    text
}

fn python(dice: &mut Dice, domain: &str, part: &str, functions: usize) -> String {
    let mut text = format!(
        "\"\"\"{} of {domain} data.\"\"\"\n\nimport logging\n\nlog = logging.getLogger(__name__)\n\n\n",
        title(part)
    );
    let _ = write!(text, "class {}{}:\n    \"\"\"{}\"\"\"\n\n", title(domain), title(part), doc(dice, domain));
    for at in 0..functions {
        let (verb, noun) = (dice.of(VERBS), dice.of(NOUNS));
        let _ = write!(
            text,
            "    def {verb}_{noun}_{at}(self, rows, limit={}):\n        \"\"\"{}\"\"\"\n        kept = [row for row in rows if row.{noun} is not None]\n        log.info(\"{verb} %d {noun}s of the {domain}\", len(kept))\n        return sorted(kept, key=lambda row: row.at)[:limit]\n\n",
            10 + dice.roll(90),
            doc(dice, domain),
        );
    }
    text
}

fn go(dice: &mut Dice, domain: &str, part: &str, functions: usize) -> String {
    let mut text = format!(
        "package {domain}\n\nimport (\n\t\"context\"\n\t\"errors\"\n)\n\n// {} {}\ntype {} struct {{\n\tstore Store\n}}\n\n",
        title(part),
        doc(dice, domain),
        title(part)
    );
    for at in 0..functions {
        let (verb, noun) = (title(dice.of(VERBS)), title(dice.of(NOUNS)));
        let _ = write!(
            text,
            "// {verb}{noun}{at} {}\nfunc (x *{}) {verb}{noun}{at}(ctx context.Context, id string) (int, error) {{\n\tfound, err := x.store.{noun}(ctx, id)\n\tif err != nil {{\n\t\treturn 0, errors.Join(err, Err{noun})\n\t}}\n\treturn len(found), nil\n}}\n\n",
            doc(dice, domain),
            title(part),
        );
    }
    text
}

fn java(dice: &mut Dice, domain: &str, part: &str, functions: usize) -> String {
    let mut text = format!(
        "package shop.{domain};\n\nimport java.util.List;\n\n/** {} */\npublic class {}{} {{\n",
        doc(dice, domain),
        title(domain),
        title(part)
    );
    for at in 0..functions {
        let (verb, noun) = (dice.of(VERBS), title(dice.of(NOUNS)));
        let _ = write!(
            text,
            "    /** {} */\n    public List<{noun}> {verb}{noun}{at}(String id, int limit) {{\n        var rows = repository.find{noun}(id);\n        if (rows.isEmpty()) {{\n            throw new IllegalStateException(\"no {noun} for {domain} \" + id);\n        }}\n        return rows.subList(0, Math.min(limit, rows.size()));\n    }}\n\n",
            doc(dice, domain),
        );
    }
    text + "}\n"
}

fn c(dice: &mut Dice, domain: &str, part: &str, functions: usize) -> String {
    let mut text = format!(
        "#include \"{domain}.h\"\n\n/* {part}: {} */\n#define {}_MAX {}\n\n",
        doc(dice, domain),
        domain.to_uppercase(),
        8 + dice.roll(120)
    );
    for at in 0..functions {
        let (verb, noun) = (dice.of(VERBS), dice.of(NOUNS));
        let _ = write!(
            text,
            "/* {} */\nint {domain}_{verb}_{noun}_{at}(struct {domain} *self, unsigned timeout_ms)\n{{\n    if (self->{noun}_count >= {}_MAX)\n        return -1;\n    self->{noun}[self->{noun}_count++] = timeout_ms;\n    return 0;\n}}\n\n",
            doc(dice, domain),
            domain.to_uppercase(),
        );
    }
    text
}

fn javascript(dice: &mut Dice, domain: &str, part: &str, functions: usize) -> String {
    let mut text =
        format!("// {part} for {domain}s. {}\nconst {{ db }} = require(\"../../db\");\n\n", doc(dice, domain));
    for at in 0..functions {
        let (verb, noun) = (dice.of(VERBS), dice.of(NOUNS));
        let _ = write!(
            text,
            "// {}\nasync function {verb}{}{at}(id) {{\n  const rows = await db.{domain}.where({{ id }});\n  return rows.filter((row) => row.{noun} && !row.deleted).map((row) => row.{noun});\n}}\nexports.{verb}{}{at} = {verb}{}{at};\n\n",
            doc(dice, domain),
            title(noun),
            title(noun),
            title(noun),
        );
    }
    text
}
