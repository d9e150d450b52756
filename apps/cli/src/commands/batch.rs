//! Several runs at once: reads a list of requests, tells what became of each, and waits for all of them.

use std::{fs, io::Read as _, path::Path};

use serde_json::{Map, Value};
use wire::{BatchView, ExitCode, NewRun, RunView};

use crate::{
    client::Client,
    failure::Failure,
    live::{Feed, Update},
    report::{self, table},
    session::Session,
};

/// More are refused by the server too.
const MOST: usize = 200;
const LONGEST: u64 = 1024 * 1024;

/// The requests of a file, each with what the command line says for all of them.
pub(super) fn read(path: &Path, common: &NewRun) -> Result<Vec<NewRun>, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text))
    };
    read.map_err(|error| {
        Failure::usage(format!("cannot read `{}` as text: {error}", path.display()), "give the path of a text file")
    })?;
    if text.len() as u64 > LONGEST {
        return Err(Failure::usage("the list is longer than 1 MiB", "split it"));
    }
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    parse(&text, ending, common)
}

fn parse(text: &str, ending: &str, common: &NewRun) -> Result<Vec<NewRun>, Failure> {
    let start = text.trim_start();
    let items = match ending {
        "toml" => from_toml(text)?,
        "json" => from_json(text)?,
        _ if start.starts_with("[[") => from_toml(text)?,
        _ if start.starts_with(['[', '{']) => from_json(text)?,
        _ => lines(text),
    };
    if items.is_empty() || items.len() > MOST {
        let message = format!("the list has {} requests", items.len());
        return Err(Failure::usage(message, format!("give 1 to {MOST}, one per line")));
    }
    items.into_iter().zip(1..).map(|(item, number)| one(item, number, common)).collect()
}

fn lines(text: &str) -> Vec<Value> {
    let said = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    said.map(|line| Value::String(line.to_owned())).collect()
}

fn from_json(text: &str) -> Result<Vec<Value>, Failure> {
    let value = serde_json::from_str(text).map_err(|error| refuse(&format!("is not JSON: {error}")))?;
    listed(value)
}

fn from_toml(text: &str) -> Result<Vec<Value>, Failure> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        refuse(&format!("is not TOML, line {line}: {}", error.message()))
    })?;
    let value = serde_json::to_value(table).map_err(|error| refuse(&format!("cannot be used: {error}")))?;
    listed(value)
}

/// A list, or an object with one list under `run` or `runs`.
fn listed(value: Value) -> Result<Vec<Value>, Failure> {
    match value {
        Value::Array(items) => Ok(items),
        Value::Object(mut object) if object.len() == 1 => {
            match object.remove("runs").or_else(|| object.remove("run")) {
                Some(Value::Array(items)) => Ok(items),
                Some(_) | None => Err(refuse("has no list of runs")),
            }
        }
        _ => Err(refuse("has no list of runs")),
    }
}

fn refuse(problem: &str) -> Failure {
    let hint = "write one request per line, a JSON list of texts or objects, or `[[run]]` tables with `request = …`";
    Failure::usage(format!("the list {problem}"), hint)
}

/// One request over what holds for all; keys may be written as `baseBranch` or `base_branch`.
fn one(item: Value, number: usize, common: &NewRun) -> Result<NewRun, Failure> {
    let said = match item {
        Value::String(request) => Map::from_iter([("request".to_owned(), Value::String(request))]),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (camel(&key), value)).collect(),
        _ => return Err(refuse(&format!("is wrong at request {number}: it is neither a text nor an object"))),
    };
    let mut whole = serde_json::to_value(common).expect("a request has text keys only");
    if let Value::Object(fields) = &mut whole {
        fields.extend(said);
    }
    let new: NewRun =
        serde_json::from_value(whole).map_err(|error| refuse(&format!("is wrong at request {number}: {error}")))?;
    if new.request.trim().is_empty() {
        return Err(refuse(&format!("is wrong at request {number}: it is empty")));
    }
    Ok(new)
}

fn camel(key: &str) -> String {
    let mut words = key.split(['_', '-']);
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let head = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &head.into_iter().chain(letters).collect::<String>()
    })
}

/// Tells what was started, and waits for it when asked to. Gives the worst of all ends.
pub(super) async fn started(
    session: &Session,
    client: &Client,
    started: &BatchView,
    wait: bool,
) -> Result<ExitCode, Failure> {
    let refused = started.items.iter().any(|item| item.problem.is_some());
    let mut worst = if refused { ExitCode::Failed } else { ExitCode::Done };
    let report = session.report;
    if !wait {
        if report.is_json() {
            report.json(started);
        } else {
            report.data(&table::batch(started, report::width()));
            if let Some(group) = &started.group {
                let group = report::run::short(group);
                report.note(&format!("compare them with `holdpoint compare {group}`"));
            }
        }
        return Ok(worst);
    }
    if !report.is_json() {
        report.note(&table::batch(started, report::width()));
    }
    let mut ends = Vec::new();
    for id in started.items.iter().filter_map(|item| item.run.as_ref()) {
        let run = settled(client, id).await?;
        worst = worse(worst, ExitCode::of_status(&run.status));
        ends.push(run);
    }
    if report.is_json() {
        report.json(&ends);
    } else {
        report.data(&table::runs(&ends, jiff::Timestamp::now(), report::width()));
    }
    Ok(worst)
}

/// The run, once it has ended or waits for a person.
async fn settled(client: &Client, id: &str) -> Result<RunView, Failure> {
    let mut feed = Feed::new(client.clone(), id.to_owned(), 0);
    loop {
        if let Update::Run(run) = feed.next().await?
            && (run.hold.is_some() || matches!(run.status.as_str(), "completed" | "failed" | "cancelled"))
        {
            return Ok(*run);
        }
    }
}

fn worse(one: ExitCode, other: ExitCode) -> ExitCode {
    let rank = |code: ExitCode| match code {
        ExitCode::Done => 0,
        ExitCode::Waiting => 1,
        ExitCode::Cancelled => 2,
        ExitCode::Failed => 3,
        ExitCode::Usage => 4,
        ExitCode::Unavailable => 5,
    };
    if rank(one) >= rank(other) { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common() -> NewRun {
        NewRun { project: "/p".to_owned(), agents: Some(2), ..NewRun::default() }
    }

    fn requests(text: &str, ending: &str) -> Vec<String> {
        parse(text, ending, &common()).unwrap().into_iter().map(|run| run.request).collect()
    }

    #[test]
    fn a_list_is_lines_json_or_toml() {
        assert_eq!(requests("# two\n\nadd a\n  add b  \n", "txt"), ["add a", "add b"]);
        assert_eq!(requests(r#"["add a", {"request": "add b"}]"#, ""), ["add a", "add b"]);
        assert_eq!(requests(r#"{"runs": ["add a"]}"#, "json"), ["add a"]);
        assert_eq!(requests("[[run]]\nrequest = \"add a\"\n", ""), ["add a"]);
    }

    #[test]
    fn an_item_says_more_than_the_command_line_does_for_all() {
        let text = "[[run]]\nrequest = \"a\"\nbase_branch = \"dev\"\nagents = 5\n[[run]]\nrequest = \"b\"\n";
        let runs = parse(text, "toml", &common()).unwrap();
        assert_eq!((runs[0].base_branch.as_deref(), runs[0].agents), (Some("dev"), Some(5)));
        assert_eq!((runs[1].base_branch.as_deref(), runs[1].agents), (None, Some(2)));
        assert_eq!(runs[0].project, "/p");
    }

    #[test]
    fn a_list_that_means_nothing_is_refused_with_its_place() {
        let refused = |text: &str, ending: &str| parse(text, ending, &common()).unwrap_err().problem.message;
        assert!(refused("# nothing\n", "").contains("0 requests"));
        assert!(refused(&"x\n".repeat(201), "").contains("201 requests"));
        assert!(refused("[1]", "").contains("request 1"));
        assert!(refused(r#"["a", {"request": "b", "colour": "red"}]"#, "").contains("colour"));
        assert!(refused(r#"["a", "  "]"#, "").contains("request 2"));
        assert!(refused("[[run]]\nrequest = ", "toml").contains("line 2"));
        assert!(refused("{\"a\": 1}", "").contains("no list"));
    }

    #[test]
    fn the_worst_end_counts() {
        assert_eq!(worse(ExitCode::Done, ExitCode::Waiting), ExitCode::Waiting);
        assert_eq!(worse(ExitCode::Failed, ExitCode::Cancelled), ExitCode::Failed);
    }
}
