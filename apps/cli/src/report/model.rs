//! Models for people. Pure; every cell is cleaned here.

use wire::{ModelTestView, ModelView, ModelsView, ProviderView, RoleModelsView};

use super::{
    clean_line,
    style::{BAD, DIM, GOOD},
    table::table,
    words::{count, fit, money, tokens, wrap},
};

/// `model list`; `all`: the models of providers that are not set up too.
pub(crate) fn list(models: &ModelsView, all: bool, width: usize) -> String {
    let (ready, others): (Vec<_>, Vec<_>) = models.providers.iter().partition(|provider| provider.set_up);
    let mut parts = vec![providers(&ready, width)];
    parts.extend(not_set_up(&others, width));
    parts.push(roles(&models.roles, width));
    let shown = models.providers.iter().filter(|provider| all || provider.set_up);
    let rows: Vec<&ModelView> = shown.flat_map(|provider| &provider.models).collect();
    if !rows.is_empty() {
        parts.push(prices(&rows, width));
    }
    parts.push(footer(models, width));
    parts.join("\n\n")
}

/// `model test`.
pub(crate) fn tests(results: &[ModelTestView], width: usize) -> String {
    let rows = results.iter().map(|result| {
        vec![
            fit(&clean_line(&result.model), width.saturating_sub(46).max(24)),
            if result.ok { "✓ ok".to_owned() } else { "✗ failed".to_owned() },
            result.first_byte_millis.map_or("—".to_owned(), millis),
            result.total_millis.map_or("—".to_owned(), millis),
            result.input_tokens.to_string(),
            result.output_tokens.to_string(),
            cost(result),
        ]
    });
    let header = ["model", "answer", "first byte", "whole", "in", "out", "cost"];
    let mut lines: Vec<String> = table(&header, rows, width).lines().map(paint).collect();
    for (result, problem) in results.iter().filter_map(|result| Some((result, result.problem.as_ref()?))) {
        lines.push(String::new());
        lines.extend(wrap(
            &format!("{BAD}{}{BAD:#}: {}", clean_line(&result.model), clean_line(&problem.message)),
            width,
        ));
        lines.extend(wrap(&format!("{DIM}hint:{DIM:#} {}", clean_line(&problem.hint)), width));
    }
    lines.join("\n")
}

fn paint(line: &str) -> String {
    line.replacen("✓ ok", &format!("{GOOD}✓ ok{GOOD:#}"), 1).replacen("✗ failed", &format!("{BAD}✗ failed{BAD:#}"), 1)
}

fn cost(result: &ModelTestView) -> String {
    match (result.usd, result.outcome.as_str()) {
        (Some(usd), _) => money(usd),
        (None, "not_made") => "—".to_owned(),
        (None, _) => "price unknown".to_owned(),
    }
}

fn providers(ready: &[&ProviderView], width: usize) -> String {
    if ready.is_empty() {
        return "no provider is set up".to_owned();
    }
    let rows = ready.iter().map(|provider| {
        let key = match (&provider.key_from, provider.protocol.as_str()) {
            (Some(from), _) => format!("✓ {}", clean_line(from)),
            (None, "scripted") => "—".to_owned(),
            (None, _) => "none".to_owned(),
        };
        let place = match &provider.base_url {
            Some(url) => clean_line(url),
            None => count(provider.models.len() as u64, "script", "scripts"),
        };
        vec![
            clean_line(&provider.name),
            clean_line(&provider.protocol),
            key,
            fit(&place, width.saturating_sub(42).max(20)),
        ]
    });
    table(&["provider", "protocol", "key", "address"], rows, width)
}

fn not_set_up(others: &[&ProviderView], width: usize) -> Option<String> {
    let named = |provider: &&ProviderView| {
        let variable = provider.key_variable.as_deref()?;
        Some(format!("{} ({})", clean_line(&provider.name), clean_line(variable)))
    };
    let names: Vec<String> = others.iter().filter_map(named).collect();
    (!names.is_empty()).then(|| wrap(&format!("{DIM}not set up:{DIM:#} {}", names.join(", ")), width).join("\n"))
}

/// Roles with the same models stand together.
fn roles(roles: &[RoleModelsView], width: usize) -> String {
    let mut groups: Vec<(&[String], &str, Vec<String>)> = Vec::new();
    for role in roles {
        match groups.iter_mut().find(|(models, from, _)| *models == role.models && *from == role.from) {
            Some((_, _, names)) => names.push(clean_line(&role.role)),
            None => groups.push((&role.models, &role.from, vec![clean_line(&role.role)])),
        }
    }
    let mut lines = vec![format!("{DIM}models in the order they are tried, and the roles that use them{DIM:#}")];
    for (models, from, names) in groups {
        let models: Vec<String> = models.iter().map(|model| clean_line(model)).collect();
        let models = if models.is_empty() { "no model can be used".to_owned() } else { models.join(" → ") };
        lines.extend(wrap(&format!("{models} {DIM}({}){DIM:#}", clean_line(from)), width));
        let names = wrap(&names.join(", "), width.saturating_sub(2));
        lines.extend(names.iter().map(|names| format!("  {names}")));
    }
    lines.join("\n")
}

fn prices(models: &[&ModelView], width: usize) -> String {
    let rows = models.iter().map(|model| {
        let name = fit(&clean_line(&model.name), width.saturating_sub(46).max(24));
        let window = model.context_tokens.map_or("?".to_owned(), window);
        let Some(price) = &model.price else {
            let unknown = ["—", "—", "—", "—", "price unknown"].map(str::to_owned);
            return [name, window].into_iter().chain(unknown).collect();
        };
        let from = if model.price_from.as_deref() == Some("user") { "yours" } else { "table" };
        let mut cells = vec![name, window];
        cells.extend([price.input, price.output, price.cache_read, price.cache_write].map(dollars));
        cells.push(from.to_owned());
        cells
    });
    table(&["model", "context", "in", "out", "cache read", "write", "price"], rows, width)
}

fn footer(models: &ModelsView, width: usize) -> String {
    let (prices, tests) = (&models.prices, &models.tests);
    let file = clean_line(&prices.user_file);
    let own = match prices.user_file_used {
        true => format!("yours are from {file}"),
        false => format!("put prices of your own into {file}"),
    };
    let mut lines = vec![format!(
        "Prices in US dollars per million tokens: built-in table of {}; {own}.",
        clean_line(&prices.version)
    )];
    if tests.calls > 0 {
        let unpriced = match tests.unpriced {
            0 => String::new(),
            number => format!(" and {number} of unknown price"),
        };
        let calls = count(tests.calls, "test call", "test calls");
        lines.push(format!(
            "{calls} so far: {}{unpriced}; records in {}.",
            money(tests.usd),
            clean_line(&tests.records)
        ));
    }
    let wrapped = lines.iter().flat_map(|line| wrap(line, width));
    wrapped.map(|line| format!("{DIM}{line}{DIM:#}")).collect::<Vec<_>>().join("\n")
}

/// "0.42 ms" would be noise for a model; "12 ms" and "3.4 s" are not.
fn millis(time: f64) -> String {
    match time {
        0.0..10.0 => format!("{time:.1} ms"),
        10.0..10_000.0 => format!("{time:.0} ms"),
        _ => format!("{:.1} s", time / 1000.0),
    }
}

/// "200k", "1M".
fn window(count: u64) -> String {
    tokens(count).replace(".0", "")
}

/// "3.00", "0.028".
fn dollars(usd: f64) -> String {
    let whole = format!("{usd:.2}");
    let exact = format!("{usd:.4}");
    let exact = exact.trim_end_matches('0');
    if exact.len() > whole.len() { exact.to_owned() } else { whole }
}

#[cfg(test)]
mod tests {
    use wire::{PriceView, PricesView, Problem, TestSpendView};

    use super::*;
    use crate::report::plain;

    fn model(name: &str, price: Option<f64>, from: &str) -> ModelView {
        ModelView {
            name: name.to_owned(),
            price: price.map(|input| PriceView {
                input,
                output: 15.0,
                cache_read: 0.028,
                cache_write: 3.75,
                long: None,
            }),
            price_from: price.map(|_| from.to_owned()),
            context_tokens: price.map(|_| 200_000),
            roles: Vec::new(),
        }
    }

    fn provider(name: &str, set_up: bool, key_from: Option<&str>, models: Vec<ModelView>) -> ProviderView {
        ProviderView {
            name: name.to_owned(),
            protocol: "openai".to_owned(),
            set_up,
            base_url: Some(format!("https://api.{name}.example/v1")),
            key_variable: Some(format!("{}_API_KEY", name.to_uppercase())),
            key_from: key_from.map(str::to_owned),
            models,
        }
    }

    fn models() -> ModelsView {
        let role = |name: &str, models: &[&str]| RoleModelsView {
            role: name.to_owned(),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
            from: "chosen".to_owned(),
            program: None,
        };
        let used = ["acme/claude-sonnet-4-5", "house/new"];
        ModelsView {
            providers: vec![
                provider("acme", true, Some("ACME_API_KEY"), vec![model("acme/claude-sonnet-4-5", Some(3.0), "user")]),
                provider("house", true, None, vec![model("house/new", None, "")]),
                provider("other", false, None, vec![model("other/x", Some(1.0), "built_in")]),
            ],
            roles: vec![role("planner", &used), role("validator", &used), role("discussion", &["house/new"])],
            prices: PricesView {
                version: "2026-11-16".to_owned(),
                user_file: "/home/ada/.holdpoint/prices.toml".to_owned(),
                user_file_used: true,
            },
            direct: Vec::new(),
            tests: TestSpendView {
                calls: 3,
                usd: 0.0012,
                unpriced: 1,
                records: "/home/ada/.holdpoint/model-tests".to_owned(),
            },
        }
    }

    #[test]
    fn a_list_of_models_fits_80_columns_and_says_all() {
        let text = plain(&list(&models(), false, 80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for said in [
            "✓ ACME_API_KEY",
            "https://api.acme.example/v1",
            "not set up: other (OTHER_API_KEY)",
            "acme/claude-sonnet-4-5 → house/new",
            "planner, validator",
            "200k",
            "0.028",
            "yours",
            "price unknown",
            "built-in table of 2026-11-16",
            "3 test calls so far: $0.0012 and 1 of unknown price",
        ] {
            assert!(text.contains(said), "`{said}` is not in\n{text}");
        }
        assert!(!text.contains("other/x"), "{text}");
        assert!(plain(&list(&models(), true, 80)).contains("other/x"));
    }

    #[test]
    fn a_test_shows_latency_tokens_cost_and_what_went_wrong() {
        let answered = ModelTestView {
            model: "acme/claude-sonnet-4-5".to_owned(),
            ok: true,
            protocol: Some("messages".to_owned()),
            at: jiff::Timestamp::UNIX_EPOCH,
            first_byte_millis: Some(412.4),
            total_millis: Some(12_345.0),
            input_tokens: 14,
            output_tokens: 4,
            usage_known: true,
            usd: Some(0.000_102),
            price_known: true,
            outcome: "ok".to_owned(),
            problem: None,
        };
        let problem = Problem {
            code: "no_key".to_owned(),
            message: "`house` wants a key\u{1b}[31m and none is set (401)".to_owned(),
            hint: "set HOUSE_API_KEY".to_owned(),
            field: None,
        };
        let refused = ModelTestView {
            model: "house/new".to_owned(),
            ok: false,
            first_byte_millis: None,
            usd: None,
            outcome: "error".to_owned(),
            problem: Some(problem),
            ..answered.clone()
        };
        let text = plain(&tests(&[answered, refused], 80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for said in ["✓ ok", "412 ms", "12.3 s", "$0.0001", "✗ failed", "price unknown", "hint: set HOUSE_API_KEY"]
        {
            assert!(text.contains(said), "`{said}` is not in\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn prices_have_as_many_digits_as_they_need() {
        assert_eq!([0.0, 3.0, 0.028, 0.005, 1.25].map(dollars), ["0.00", "3.00", "0.028", "0.005", "1.25"]);
        assert_eq!([8_192, 200_000, 1_000_000].map(window), ["8.2k", "200k", "1M"]);
    }
}
