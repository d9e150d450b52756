//! `ask_questions`: hands the conversation to a person; it goes on with the answers.

use domain::{AtDeadline, Question, ResponseType};
use drivers::{HandIn, PastAnswer};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Definition, ToolError, parse, required};

const MOST: usize = 5;
const MOST_MINUTES: u32 = 7 * 24 * 60;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    questions: Vec<Asked>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    question: String,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    options: Option<Vec<String>>,
    #[serde(default, alias = "response_type")]
    response_type: Option<ResponseType>,
    #[serde(default)]
    default: Option<Choice>,
    #[serde(default, rename = "deadline_minutes", alias = "deadlineMinutes")]
    deadline_minutes: Option<u32>,
    #[serde(default)]
    reversible: bool,
    #[serde(default, rename = "at_deadline", alias = "atDeadline")]
    at_deadline: Option<Deadline>,
    #[serde(default)]
    secret: bool,
}

/// One answer, or several for a choice of several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Choice {
    One(String),
    Several(Vec<String>),
}

/// What an agent may wish for when nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Deadline {
    Wait,
    Escalate,
    Assume,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "ask_questions",
        description: "Ask the person up to 5 questions and wait for the answers. Work stops until they answer, which may \
                      take days, so ask only what you cannot find out in the repository and what would change the \
                      result; ask everything at once. Do not combine with handing in.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["questions"],
            "properties": {"questions": {
                "type": "array", "minItems": 1, "maxItems": MOST,
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["question"],
                    "properties": {
                        "question": {"type": "string", "description": "One clear question."},
                        "context": {"type": "string", "description": "Why you ask and what follows from each answer."},
                        "options": {"type": "array", "items": {"type": "string"}, "description": "Answers to choose from."},
                        "responseType": {
                            "type": "string",
                            "enum": ["text", "single_choice", "multiple_choice", "file_upload"],
                            "description": "Default: single_choice when there are options, else text."
                        },
                        "default": {
                            "type": "array", "items": {"type": "string"},
                            "description": "What you would choose yourself: one text, or options."
                        },
                        "deadline_minutes": {
                            "type": "integer", "minimum": 1, "maximum": MOST_MINUTES,
                            "description": "How long the person has before at_deadline applies; leave out to wait as long as it takes."
                        },
                        "reversible": {"type": "boolean", "description": "Whether a wrong guess can be mended later at little cost."},
                        "at_deadline": {
                            "type": "string", "enum": ["wait", "escalate", "assume"],
                            "description": "assume: go on with the default, which must then be given, and only for what is reversible."
                        },
                        "secret": {
                            "type": "boolean",
                            "description": "The answer is a password, key or token: you alone get it, it is hidden while typed and written down nowhere. Never put it in a file you hand in."
                        }
                    }
                }
            }}
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let questions = questions(input)?;
    Ok(HandIn::Questions { questions })
}

/// How many answers a good call waits for.
pub(crate) fn count(input: &Value) -> usize {
    parse("ask_questions", input).and_then(questions).map_or(0, |questions| questions.len())
}

/// The result of the call, from the answers to its questions.
pub(crate) fn answered(answers: &[PastAnswer]) -> String {
    let lines = answers.iter().map(|past| match &past.answer {
        Some(answer) => format!("Question: {}\nAnswer: {}", past.question, answer.join("\n")),
        None => format!(
            "Question: {}\nThe person chose not to answer: decide yourself and state the assumption in what you hand in.",
            past.question
        ),
    });
    lines.collect::<Vec<_>>().join("\n\n")
}

fn questions(input: Input) -> Result<Vec<Question>, ToolError> {
    if input.questions.is_empty() || input.questions.len() > MOST {
        return Err(ToolError::Refused(format!("ask at least 1 and at most {MOST} questions at once")));
    }
    input.questions.into_iter().map(question).collect()
}

fn question(asked: Asked) -> Result<Question, ToolError> {
    let question = required("ask_questions", "question", &asked.question)?;
    let options: Vec<String> = asked.options.unwrap_or_default();
    let default = if options.is_empty() { ResponseType::Text } else { ResponseType::SingleChoice };
    let response_type = asked.response_type.unwrap_or(default);
    let choice = matches!(response_type, ResponseType::SingleChoice | ResponseType::MultipleChoice);
    if choice && options.len() < 2 {
        return Err(ToolError::Refused(format!("a choice needs at least two `options`: `{question}`")));
    }
    if options.iter().any(|option| option.trim().is_empty()) {
        return Err(ToolError::Refused(format!("an option of `{question}` is empty")));
    }
    let options = if choice { options } else { Vec::new() };
    let default = default_of(&question, asked.default, response_type, &options)?;
    let at_deadline = at_deadline(&question, asked.deadline_minutes, asked.at_deadline, &default, asked.reversible)?;
    Ok(Question {
        question,
        context: asked.context.unwrap_or_default().trim().to_owned(),
        options,
        response_type,
        default,
        deadline_minutes: asked.deadline_minutes,
        reversible: asked.reversible,
        at_deadline,
        secret: asked.secret,
    })
}

/// A default is an answer that the person could have given.
fn default_of(
    question: &str,
    default: Option<Choice>,
    response_type: ResponseType,
    options: &[String],
) -> Result<Vec<String>, ToolError> {
    let default = match default {
        None => return Ok(Vec::new()),
        Some(Choice::One(text)) => vec![text],
        Some(Choice::Several(texts)) => texts,
    };
    if default.is_empty() {
        return Ok(default);
    }
    let known = default.iter().all(|chosen| options.contains(chosen));
    let fits = match response_type {
        ResponseType::Text => default.len() == 1 && !default[0].trim().is_empty(),
        ResponseType::SingleChoice => default.len() == 1 && known,
        ResponseType::MultipleChoice => known,
        ResponseType::FileUpload => false,
    };
    let choices = if options.is_empty() { String::new() } else { format!("; choose from `{}`", options.join("`, `")) };
    let words = || ToolError::Refused(format!("the `default` of `{question}` is no answer to it{choices}"));
    if fits { Ok(default) } else { Err(words()) }
}

fn at_deadline(
    question: &str,
    minutes: Option<u32>,
    wished: Option<Deadline>,
    default: &[String],
    reversible: bool,
) -> Result<Option<AtDeadline>, ToolError> {
    let refuse = |words: &str| Err(ToolError::Refused(format!("{words}: `{question}`")));
    match (minutes, wished) {
        (Some(minutes), _) if !(1..=MOST_MINUTES).contains(&minutes) => {
            refuse(&format!("`deadline_minutes` must be from 1 to {MOST_MINUTES}"))
        }
        (None, Some(_)) => refuse("`at_deadline` needs `deadline_minutes`"),
        (Some(_), Some(Deadline::Assume)) if default.is_empty() || !reversible => {
            refuse("to assume an answer it takes a `default` and `reversible` = true")
        }
        (Some(_), Some(Deadline::Wait)) => Ok(Some(AtDeadline::Wait)),
        (Some(_), Some(Deadline::Escalate)) => Ok(Some(AtDeadline::Escalate)),
        (Some(_), Some(Deadline::Assume)) => Ok(Some(AtDeadline::Assume)),
        (Some(_) | None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: Value, expected: Result<&[(ResponseType, usize)], &str>) {
        let read = parse("ask_questions", &input).and_then(questions);
        match (read, expected) {
            (Ok(read), Ok(expected)) => {
                let shapes: Vec<_> = read.iter().map(|read| (read.response_type, read.options.len())).collect();
                assert_eq!(shapes, expected);
            }
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (read, _) => panic!("{read:?}"),
        }
    }

    #[test]
    fn questions_are_read_with_their_defaults_or_refused() {
        let ask = |question: Value| json!({"questions": [question]});
        check(ask(json!({"question": "Why?"})), Ok(&[(ResponseType::Text, 0)]));
        check(ask(json!({"question": "Which?", "options": ["a", "b"]})), Ok(&[(ResponseType::SingleChoice, 2)]));
        let several = json!({"question": "Which?", "options": ["a", "b"], "responseType": "multiple_choice"});
        check(ask(several), Ok(&[(ResponseType::MultipleChoice, 2)]));
        check(ask(json!({"question": " "})), Err("`question` of `ask_questions` is empty"));
        check(ask(json!({"question": "Which?", "responseType": "single_choice"})), Err("at least two"));
        check(ask(json!({"question": "Which?", "options": ["a", ""]})), Err("is empty"));
        check(json!({"questions": []}), Err("at least 1 and at most 5"));
        check(json!({"questions": vec![json!({"question": "q"}); 6]}), Err("at most 5"));
        check(json!({"question": "q"}), Err("unknown field"));
        check(json!("{\"questions\": [{\"quest"), Err("cut off"));
    }

    #[test]
    fn a_default_is_a_possible_answer_and_guessing_needs_one() {
        let ask = |question: Value| json!({"questions": [question]});
        let refused = |question: Value, words: &str| check(ask(question), Err(words));
        let good = json!({"question": "Which?", "options": ["a", "b"], "default": "b", "deadline_minutes": 30,
            "reversible": true, "at_deadline": "assume"});
        let read = parse("ask_questions", &ask(good)).and_then(questions).unwrap();
        assert_eq!(
            (read[0].default.as_slice(), read[0].rule()),
            (["b".to_owned()].as_slice(), Some(AtDeadline::Assume))
        );
        let several = json!({"question": "Which?", "options": ["a", "b"], "responseType": "multiple_choice",
            "default": ["a", "b"]});
        check(ask(several), Ok(&[(ResponseType::MultipleChoice, 2)]));
        refused(json!({"question": "Which?", "options": ["a", "b"], "default": ["c"]}), "choose from `a`, `b`");
        refused(json!({"question": "Which?", "options": ["a", "b"], "default": ["a", "b"]}), "is no answer");
        refused(json!({"question": "Why?", "default": " "}), "is no answer");
        refused(json!({"question": "Why?", "at_deadline": "wait"}), "needs `deadline_minutes`");
        refused(json!({"question": "Why?", "deadline_minutes": 0}), "from 1 to 10080");
        let guess = json!({"question": "Why?", "default": "so", "deadline_minutes": 5, "at_deadline": "assume"});
        refused(guess, "takes a `default` and `reversible`");
    }

    #[test]
    fn a_question_left_open_is_handed_back_to_the_agent() {
        let answers = [
            PastAnswer { question: "A?".into(), answer: Some(vec!["x".into(), "y".into()]) },
            PastAnswer { question: "B?".into(), answer: None },
        ];
        let text = answered(&answers);
        assert!(
            text.starts_with("Question: A?\nAnswer: x\ny\n\nQuestion: B?\nThe person chose not to answer"),
            "{text}"
        );
    }
}
