//! A shop in JavaScript with docs, schema and tools beside it: some fifty files in several folders, whose tests run
//! with `node --test` alone.

use std::path::Path;

/// Modules of the library, each with a function of its own that uses the one that is to be renamed.
const MODULES: [&str; 14] = [
    "cart", "catalog", "checkout", "coupon", "customer", "delivery", "invoice", "loyalty", "order", "payment",
    "refund", "report", "stock", "tax",
];

/// Writes the project. `formatPrice` is defined once and used in every module, its tests, the docs and a script.
pub(crate) fn write(root: &Path) {
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(
        "package.json",
        "{\"name\": \"shop\", \"private\": true, \"type\": \"module\", \"scripts\": {\"test\": \"node --test test/\"}}\n",
    );
    put(
        "src/money.js",
        "// Money is counted in cents.\n\nexport function formatPrice(cents) {\n  return (cents / 100).toFixed(2) + \" EUR\";\n}\n\nexport function addTax(cents, percent) {\n  return Math.round(cents * (1 + percent / 100));\n}\n",
    );
    for (at, name) in MODULES.iter().enumerate() {
        let title = name[..1].to_uppercase() + &name[1..];
        put(
            &format!("src/{name}/{name}.js"),
            &format!(
                "import {{ formatPrice }} from \"../money.js\";\n\n// What a {name} says on the page.\nexport function show{title}(cents) {{\n  return \"{name}: \" + formatPrice(cents + {at});\n}}\n"
            ),
        );
        put(&format!("src/{name}/index.js"), &format!("export {{ show{title} }} from \"./{name}.js\";\n"));
        // One module has the line ends of Windows, as happens.
        let end = if *name == "coupon" { "\r\n" } else { "\n" };
        put(
            &format!("test/{name}.test.js"),
            &[
                "import test from \"node:test\";",
                "import assert from \"node:assert\";",
                &format!("import {{ show{title} }} from \"../src/{name}/index.js\";"),
                "import { formatPrice } from \"../src/money.js\";",
                "",
                &format!("test(\"{name} shows its price\", () => {{"),
                &format!("  assert.equal(show{title}(100), \"{name}: \" + formatPrice({}));", 100 + at),
                "});",
                "",
            ]
            .join(end),
        );
    }
    put(
        "docs/money.md",
        "# Money\n\nUse `formatPrice` for everything that people see. Do not confuse it with `formatPriceList`.\n",
    );
    put("docs/style.md", "# Style\n\nTwo spaces.\n");
    put(
        "tools/pricelist.py",
        "# formatPriceList is another thing: it prints a table.\ndef formatPriceList(rows):\n    return rows\n",
    );
    put("tools/check.sh", "#!/bin/sh\nexec node --test test/\n");
    put("db/schema.sql", "create table price (cents integer not null);\n");
    put(".gitignore", "node_modules\nout\n");
    put("out/old.js", "formatPrice(1)\n");
}

/// Every file that is part of the project, with its text.
pub(crate) fn files(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
