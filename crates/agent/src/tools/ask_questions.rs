//! `ask_questions`: hands the conversation to a person; it goes on with the answers.

use domain::{Question, ResponseType};
use drivers::{HandIn, PastAnswer};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Definition, ToolError, parse, required};

const MOST: usize = 5;

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
    #[serde(default)]
    response_type: Option<ResponseType>,
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
    Ok(Question {
        context: asked.context.unwrap_or_default().trim().to_owned(),
        options,
        response_type,
        ..Question::text(&question)
    })
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
