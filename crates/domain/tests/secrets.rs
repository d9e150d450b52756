//! What is taken for a secret, and what is not. Examples are put together here, so that no scanner takes this file for a
//! leak.

use domain::{KnownSecret, SecretScanner, looks_secret};

fn scan(path: &str, text: &str) -> Vec<(String, u32)> {
    let found = SecretScanner::default().scan(path, text.as_bytes());
    found.into_iter().map(|finding| (finding.kind, finding.line)).collect()
}

#[track_caller]
fn found(kind: &str, parts: &[&str]) {
    let secret = parts.concat();
    for text in [format!("one\n  use(\"{secret}\")\n"), format!("A={secret}\nB=2"), format!("\u{0}{secret}\u{0}")] {
        let found = scan("src/a.rs", &text);
        assert!(found.iter().any(|(found, _)| found == kind), "{kind} was not found: {found:?}");
        let redacted = SecretScanner::default().redact(&text);
        assert!(redacted.contains(&format!("[redacted: {kind}]")) && !redacted.contains(&secret), "{redacted}");
    }
}

#[track_caller]
fn nothing(path: &str, text: &str) {
    assert_eq!(scan(path, text), [], "in {path}: {text}");
}

#[test]
fn the_usual_vendors_secrets_are_found() {
    let mixed = "q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3uEo5iWx7QzLk9J";
    let hex = "4f8a1c3e9b7d2065fa1e8c3b9d7240e64f8a1c3e9b7d2065fa1e8c3b9d7240e6";
    found("AWS access key id", &["AKIA", "Q6TYRLW3XMZ5KJ2B"]);
    for letter in ["p", "o", "u", "s", "r"] {
        found("GitHub token", &["gh", letter, "_", &mixed[..36]]);
    }
    found("GitHub token", &["github", "_pat_", &mixed[..22], "_", &mixed[..49], &mixed[..10]]);
    found("GitLab token", &["gl", "pat-", &mixed[..20]]);
    found("Anthropic key", &["sk-", "ant-api03-", mixed, "AA"]);
    found("OpenAI key", &["sk-", "proj-", mixed]);
    found("OpenAI key", &["sk-", &mixed[..48]]);
    found("OpenRouter key", &["sk-or", "-v1-", hex]);
    found("Slack token", &["xo", "xb-283947561029-", &mixed[..24]]);
    found("Slack webhook", &["https://hooks.slack", ".com/services/T03KQ8Z1A/B04LM9X2C/", &mixed[..24]]);
    found("Stripe key", &["sk", "_live_", &mixed[..24]]);
    found("Stripe key", &["rk", "_live_", &mixed[..24]]);
    found("Google API key", &["AI", "zaSy", &mixed[..33]]);
    found("npm token", &["npm", "_", &mixed[..36]]);
    found("PyPI token", &["pypi-", "AgEIcHlwaS5vcmc", mixed]);
    found("crates.io token", &["c", "io", &mixed[..32]]);
    found("Telegram bot token", &["639482017", ":AA", &mixed[..33]]);
    found("SendGrid key", &["SG", ".", &mixed[..22], ".", &mixed[..43]]);
    found("Twilio key", &["S", "K", &hex[..32]]);
    found("DigitalOcean token", &["dop", "_v1_", hex]);
    found("Hugging Face token", &["h", "f_", &mixed[..34]]);
    let azure = scan("a.cs", &["Endpoint=x;Account", "Key=", mixed, &mixed[..37], "==;"].concat());
    assert_eq!(azure, [("Azure storage key".to_owned(), 1)]);
    let aws = scan("a", &["aws_secret_access", "_key = ", &mixed[..38], "/x"].concat());
    assert_eq!(aws, [("AWS secret access key".to_owned(), 1)]);
    found("JSON web token", &["ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiJhZGEiLCJleHAiOjE3fQ.", &mixed[..43]]);
}

/// What stands between the lines of a key's wrapping.
fn key(kind: &str, between: &str) -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    [
        &format!("-----BEGIN {kind}PRIVATE"),
        " KEY-----",
        between,
        line,
        between,
        line,
        between,
        &format!("-----END {kind}PRIVATE"),
        " KEY-----",
    ]
    .concat()
}

#[test]
fn private_keys_of_all_kinds_are_found_also_where_their_line_breaks_are_written_out() {
    for kind in ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "PGP "] {
        for between in ["\n", "\r\n", "\\n", "\n    "] {
            let text = format!("{{ \"private_key\": \"{}\\n\" }}", key(kind, between));
            assert_eq!(scan("key.json", &text), [("private key".to_owned(), 1)], "{text}");
            let redacted = SecretScanner::default().redact(&text);
            assert!(redacted.contains("[redacted: private key]") && !redacted.contains("MIIE"), "{redacted}");
        }
    }
    let encrypted = key("RSA ", "\n").replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C3D\n\n", 1);
    assert_eq!(scan("id_rsa", &encrypted).len(), 1);
    let cut = key("", "\n").split("-----END").next().unwrap().to_owned();
    assert_eq!(scan("half.pem", &cut).len(), 1, "also one whose end is missing");
    nothing("docs.md", "A key begins with `-----BEGIN PRIVATE KEY-----` and ends with `-----END PRIVATE KEY-----`.");
    nothing("a.py", "if \"-----BEGIN RSA PRIVATE KEY-----\" in text:\n    raise ValueError(text)\n");
    nothing("cert.pem", &key("", "\n").replace("PRIVATE KEY", "CERTIFICATE"));
}

#[test]
fn passwords_in_addresses_are_found_and_examples_are_not() {
    for address in ["postgres://app:w8Kq2zLm9@db.shop.io:5432/x", "https://ada:Tr0ub4dor&3@git.shop.io/a.git"] {
        assert_eq!(scan("a.yml", address), [("password in an address".to_owned(), 1)], "{address}");
    }
    assert_eq!(
        SecretScanner::default().redact("x redis://:w8Kq2zLm9@cache.shop.io/0 y"),
        "x redis://:[redacted: password in an address]@cache.shop.io/0 y"
    );
    for address in [
        "postgres://postgres:postgres@localhost:5432/x",
        "postgres://user:password@db.shop.io/x",
        "postgres://app:app@db:5432/app",
        "postgres://app:secretpw@db:5432/app",
        "mysql://root:w8Kq2zLm9@127.0.0.1/x",
        "https://user:${TOKEN}@github.com/a/b.git",
        "https://user:<token>@github.com/a/b.git",
        "https://ada:hunter2-please@example.com/",
        "https://oauth2:$CI_JOB_TOKEN@gitlab.com/a.git",
        "ssh://git@github.com:22/a/b.git",
        "http://host:8080/path@version",
        "see https://docs.rs/a/1.0:2@x",
    ] {
        nothing("a.yml", address);
    }
}

#[test]
fn values_given_to_what_is_named_like_a_secret_are_found() {
    let value = ["q7Zt1Lw9", "Xc3Vb5Nm2"].concat();
    for (path, text) in [
        ("a.py", format!("API_KEY = \"{value}\"")),
        ("a.ts", format!("const opts = {{ clientSecret: '{value}' }};")),
        ("a.json", format!("{{\"db_password\": \"{value}\"}}")),
        (".env", format!("SESSION_SECRET={value}")),
        (".env.production", format!("export AUTH_TOKEN={value}\n")),
        ("Dockerfile", format!("ENV APP_PASSWORD={value}")),
        ("run.sh", format!("export DB_PASSWD={value}")),
        ("values.yaml", format!("  password: {value}")),
        ("a.go", format!("secretKey := \"{value}\"")),
        ("a.rb", format!(":api_key => \"{value}\"")),
        ("a.ini", format!("passwd = {value}")),
    ] {
        assert_eq!(scan(path, &text), [("secret value".to_owned(), 1)], "{path}: {text}");
        assert!(!SecretScanner::default().redact(&text).contains(&value), "{text}");
    }
    let password = ["hT7$", "kq!9zPw"].concat();
    assert_eq!(scan("a.py", &format!("password = '{password}'")).len(), 1);
}

#[test]
fn names_places_and_examples_are_no_secrets() {
    for (path, text) in [
        ("a.py", "password = 'changeme'"),
        ("a.py", "api_key = \"your-api-key-here-1a2b3c4d5e\""),
        ("a.py", "token = os.environ['TOKEN']"),
        ("a.js", "const token = process.env.GITHUB_TOKEN_V2_2024;"),
        ("a.ts", "apiKey: config.get('a1b2c3.d4e5f6.g7h8')"),
        ("a.rs", "let token = self.next_token_2_or_3(a1b2c3d4e5);"),
        ("a.rs", "let secret = Secret::new(key1b2c3d4e5f6a7);"),
        ("a.yml", "password: ${{ secrets.DB_PASSWORD_2024 }}"),
        ("a.yml", "token: {{ .Values.token1a2b3c4d5e6f }}"),
        ("a.yml", "secretName: app-db-7f9c8d6b5a"),
        ("a.yml", "tokenUrl: https://login.shop.io/oauth2/v2.0/token"),
        ("a.json", "{\"token_id\": \"550e8400-e29b-41d4-a716-446655440000\"}"),
        ("a.json", "{\"token\": \"550e8400-e29b-41d4-a716-446655440000\"}"),
        (".env.example", "SECRET_KEY=<generate-one-with-openssl-rand-32>"),
        (".env.example", "API_TOKEN=xxxxxxxxxxxxxxxxxxxxxxxx"),
        ("a.md", "Set `GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` first."),
        ("a.md", "The password: it has at least 10 letters."),
        ("a.tsx", "<input type=\"password\" name=\"new-password-confirmation-2\" />"),
        ("a.css", ".token.keyword1, .token.string2 { color: #a1b2c3; }"),
        ("a.js", "tokenizer: \"bert-base-uncased-L12-H768-A12\""),
        ("Cargo.lock", "checksum = \"f020237b6c8eed93db2e2cb53c00c60a8e1bc73da7d073199a1180401450218d\""),
        (
            "package-lock.json",
            "\"node_modules/js-tokens\": { \"integrity\": \"sha512-RdJUflcE3cUzKiMqQgsCu06FPu9UdIJO0beYbPhHN4k6apgJtifcoCtT9bcxOpYBtpD2kCM6Sbzg4CausW/PKQ==\" }",
        ),
        (
            "yarn.lock",
            "js-tokens@^4.0.0:\n  integrity sha512-RdJUflcE3cUzKiMqQgsCu06FPu9UdIJO0beYbPhHN4k6apgJtifcoCtT9bcxOpYBtpD2kCM6Sbzg4CausW/PKQ==",
        ),
        ("go.sum", "github.com/a/token v1.2.3 h1:q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3uEo5iWx7="),
        (
            "a.html",
            "<script src=a.js integrity=\"sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC\">",
        ),
        ("a.md", "see commit 4f8a1c3e9b7d2065fa1e8c3b9d7240e64f8a1c3e and run 550e8400-e29b-41d4-a716-446655440000"),
        ("a.md", "`AKIAIOSFODNN7EXAMPLE` and `wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`"),
        ("a.ini", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        (
            "a.md",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
        ),
        ("a.py", "sk-learn, sk-ant-hill, npm_config_cache, hf_hub_download, pypi-server"),
        ("a.min.js", "a.token=\"q7Zt1Lw9Xc3Vb5Nm2Kj8\";"),
    ] {
        nothing(path, text);
    }
    // An image in base64, and a line without end.
    let mut image = "background: url(data:image/png;base64,".to_owned();
    for number in 0..20_000_u32 {
        let letter = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        image.push(char::from(letter[(number.wrapping_mul(2_654_435_761) >> 13) as usize % 64]));
    }
    nothing("a.css", &image);
}

#[test]
fn a_known_value_is_found_as_it_is_in_base64_at_any_place_and_in_an_address() {
    let value = "pa ss/wörd+1";
    let scanner = SecretScanner::knowing(&[KnownSecret::new("DB_PASSWORD", value).unwrap()]);
    let encoded = "cGEgc3Mvd8O2cmQrMQ=="; // of the value alone
    let behind_one = "eHBhIHNzL3fDtnJkKzE="; // of `x` and it
    let behind_two = "eHhwYSBzcy93w7ZyZCsx"; // of `xx` and it
    let between = "eHhwYSBzcy93w7ZyZCsxeXk="; // of `xx`, it and `yy`
    for form in [value, encoded, behind_one, behind_two, between, "pa%20ss%2Fw%C3%B6rd%2B1", "pa+ss%2Fw%C3%B6rd%2B1"] {
        let text = format!("one\n x {form} y");
        let found = scanner.scan("a.txt", text.as_bytes());
        assert_eq!(found.len(), 1, "{form}");
        let (finding, shown) = (&found[0], format!("{found:?}"));
        assert_eq!((finding.known_as.as_deref(), finding.line), (Some("DB_PASSWORD"), 2));
        assert!(!shown.contains("pa") || !shown.contains("rd+1"), "{shown}");
        assert!(scanner.redact(&text).contains("[redacted: DB_PASSWORD]"), "{form}");
    }
    assert_eq!(scanner.scan("a.txt", b"nothing here").len(), 0);
    assert_eq!(KnownSecret::new("PIN", "1234"), None, "what is too short is in every text");
    assert!(!format!("{scanner:?}").contains("pa ss"), "also its own words do not tell it");
}

#[test]
fn the_whole_of_a_file_is_read_also_a_huge_line_with_other_bytes_in_it() {
    let token = ["gh", "p_q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3u"].concat();
    let mut bytes = vec![0_u8; 3 << 20];
    bytes.extend(vec![b'a'; 3 << 20]);
    bytes.extend_from_slice(b"\xff\xfe ");
    bytes.extend_from_slice(token.as_bytes());
    bytes.extend(vec![b' '; 1 << 20]);
    let found = SecretScanner::default().scan("big.bin", &bytes);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].line, found[0].column), (1, (6 << 20) + 4));
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(format!("x\n{token}").encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(SecretScanner::default().scan("a.ps1", &wide)[0].line, 2);
}

#[test]
fn a_finding_shows_the_first_letters_alone_and_has_the_same_fingerprint_everywhere() {
    let token = ["gh", "p_q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3u"].concat();
    let scanner = SecretScanner::default();
    let one = scanner.scan("a", token.as_bytes()).remove(0);
    let two = scanner.scan("b", format!("\n\n  {token}").as_bytes()).remove(0);
    assert_eq!(one.fingerprint, two.fingerprint);
    assert_eq!((two.line, two.column), (3, 3));
    assert_eq!(one.words(), "a:1: GitHub token (ghp_…, 40 characters)");
    assert!(!serde_json::to_string(&one).unwrap().contains("q7Zt"));
}

#[test]
fn an_answer_that_is_a_secret_is_told_from_one_that_is_not() {
    let mixed = ["q7Zt1Lw9Xc3", "Vb5Nm2Kj8Hg4"].concat();
    assert!(looks_secret(&mixed) && looks_secret(&["hT7$kq", "!9zPw"].concat()));
    assert!(looks_secret(&["take gh", "p_q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3u"].concat()));
    for plain in [
        "yes",
        "use PostgreSQL 16",
        "src/main.rs",
        "OAuth2 with PKCE, please",
        "ada@shop.io",
        "2026-01-01T10:00:00Z",
        "https://shop.io/a/b2c3",
    ] {
        assert!(!looks_secret(plain), "{plain}");
    }
}
