//! One call from the first try to an answer that counts: what is asked again, after how long, and what is a wall.
//! Nothing is asked again once a byte of an answer has been passed on; that is the agent's to decide.

use std::sync::PoisonError;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use crate::books::{FailedTry, OpenCall};
use crate::calls::Outcome;
use crate::gateway::{Gateway, Place};
use crate::http::{Answer, NoAnswer};
use crate::quota::{Told, Wall};
use crate::refusal::{Billing, Refusal};
use crate::request::Ask;
use crate::retry;
use crate::route::Route;
use crate::tap::{Shape, Tap};
use crate::turnstile::Pass;

const ERROR_BODY_LIMIT: usize = 1024 * 1024;

/// What came of a call.
pub(crate) enum Trial {
    Answered(Answer, Shape),
    Rejected(Rejected),
}

/// The upstream said no.
pub(crate) struct Rejected {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Rejected {
    /// A gateway in front of the model that did not wait for it longer; the model may have worked on.
    pub(crate) fn billing(&self) -> Billing {
        if matches!(self.status, 504 | 524) { Billing::Possible } else { Billing::None }
    }
}

/// One try that led to no answer.
enum Failed {
    TimedOut,
    NoAnswer(NoAnswer),
    Refused(Refusal),
}

impl Failed {
    /// Whether the provider may charge for a try that led to no answer.
    fn billing(&self) -> Billing {
        match self {
            Self::TimedOut => Billing::Possible,
            Self::NoAnswer(no_answer) => no_answer.billing,
            Self::Refused(_) => Billing::None,
        }
    }
}

/// What follows from a try.
enum Verdict {
    Final,
    Again { asked_wait: Option<Duration> },
    Wall(Wall),
}

impl Gateway {
    /// Asks until there is an answer that counts, or patience is used up.
    pub(crate) async fn ask(
        &self,
        route: &Route,
        ask: &Ask,
        headers: &HeaderMap,
        call: &mut OpenCall,
    ) -> Result<Trial, Refusal> {
        let first_byte = Duration::from_millis(self.policy.first_byte_ms);
        loop {
            let pass = self.enter(route, call).await?;
            let tries = call.begin_try();
            let trial = tokio::time::timeout(first_byte, self.try_once(route, ask, headers)).await;
            let trial = trial.unwrap_or(Err(Failed::TimedOut));
            let wait = match self.judge(&trial) {
                Verdict::Final => None,
                Verdict::Wall(wall) => return Err(self.close_off(route, wall)),
                Verdict::Again { asked_wait } => self.policy.wait(tries, asked_wait, (&self.attempt, call.number())),
            };
            let Some(wait) = wait else { return self.last_word(route, tries, trial, pass) };
            drop(pass);
            call.tried(self.failed_try(route, &trial, wait));
            if may_be_billed(&trial) {
                call.reserve_again()?;
            }
            tokio::time::sleep(wait).await;
            call.waited(wait);
        }
    }

    /// One answer without retries and without books, for what costs nothing.
    pub(crate) async fn ask_once(&self, route: &Route, ask: &Ask, headers: &HeaderMap) -> Result<Trial, Refusal> {
        let first_byte = Duration::from_millis(self.policy.first_byte_ms);
        let trial = tokio::time::timeout(first_byte, self.try_once(route, ask, headers)).await;
        self.last_word(route, 1, trial.unwrap_or(Err(Failed::TimedOut)), None)
    }

    /// The refusal of a provider whose usage window is known to be spent.
    pub(crate) fn known_wall(&self, route: &Route) -> Option<Refusal> {
        let walls = self.walls.lock().unwrap_or_else(PoisonError::into_inner);
        let wall = walls[route.upstream].clone()?;
        wall.resets_at.filter(|at| *at > Timestamp::now())?;
        drop(walls);
        Some(self.quota(route, wall))
    }

    fn close_off(&self, route: &Route, wall: Wall) -> Refusal {
        let mut walls = self.walls.lock().unwrap_or_else(PoisonError::into_inner);
        walls[route.upstream] = Some(wall.clone());
        drop(walls);
        self.quota(route, wall)
    }

    fn quota(&self, route: &Route, wall: Wall) -> Refusal {
        let provider = self.upstreams[route.upstream].provider.clone();
        let said = self.without_key(route, &wall.said);
        Refusal::Quota { provider, said, resets_at: wall.resets_at }
    }

    async fn enter(&self, route: &Route, call: &mut OpenCall) -> Result<Option<Pass>, Refusal> {
        let Some(turnstile) = &self.turnstiles[route.upstream] else { return Ok(None) };
        let begun = Instant::now();
        let pass = turnstile.enter().await.map_err(|error| Refusal::Turnstile {
            provider: self.upstreams[route.upstream].provider.clone(),
            cause: error.to_string(),
        })?;
        call.waited(begun.elapsed());
        Ok(Some(pass))
    }

    fn judge(&self, trial: &Result<Trial, Failed>) -> Verdict {
        match trial {
            Ok(Trial::Answered(..)) | Err(Failed::Refused(_)) => Verdict::Final,
            Err(Failed::TimedOut | Failed::NoAnswer(_)) => Verdict::Again { asked_wait: None },
            Ok(Trial::Rejected(rejected)) => {
                let body = serde_json::from_slice::<Value>(&rejected.body).unwrap_or_default();
                let Rejected { status, headers, .. } = rejected;
                let told = Told { status: *status, headers, body: &body, now: Timestamp::now() };
                if let Some(wall) = told.wall(Duration::from_millis(self.policy.cap_ms)) {
                    return Verdict::Wall(wall);
                }
                let declined = headers.get("x-should-retry").is_some_and(|value| value == "false");
                if declined || !retry::passes_over(*status) {
                    return Verdict::Final;
                }
                Verdict::Again { asked_wait: told.asked_wait() }
            }
        }
    }

    fn failed_try(&self, route: &Route, trial: &Result<Trial, Failed>, wait: Duration) -> FailedTry {
        let (outcome, status, cause) = match trial {
            Ok(Trial::Rejected(rejected)) => {
                let text = String::from_utf8_lossy(&rejected.body);
                (Outcome::Error, Some(rejected.status), text.trim().chars().take(200).collect())
            }
            Err(Failed::TimedOut) => {
                (Outcome::Stalled, None, format!("no answer within {} ms", self.policy.first_byte_ms))
            }
            Err(Failed::NoAnswer(no_answer)) => (Outcome::Cut, None, no_answer.cause.clone()),
            Err(Failed::Refused(refusal)) => (Outcome::Refused, None, refusal.to_string()),
            Ok(Trial::Answered(answer, _)) => (Outcome::Ok, Some(answer.status), String::new()),
        };
        FailedTry { outcome, status, cause: self.without_key(route, &cause), wait }
    }

    fn last_word(
        &self,
        route: &Route,
        tries: u32,
        trial: Result<Trial, Failed>,
        pass: Option<Pass>,
    ) -> Result<Trial, Refusal> {
        let provider = self.upstreams[route.upstream].provider.clone();
        match trial {
            Ok(Trial::Answered(answer, shape)) => Ok(Trial::Answered(Answer { pass, ..answer }, shape)),
            Ok(Trial::Rejected(rejected)) => Ok(Trial::Rejected(rejected)),
            Err(Failed::Refused(refusal)) => Err(refusal),
            Err(Failed::NoAnswer(NoAnswer { cause, billing })) => {
                Err(Refusal::Unreachable { provider, tries, cause, billing })
            }
            Err(Failed::TimedOut) => Err(Refusal::TimedOut { provider, tries, millis: self.policy.first_byte_ms }),
        }
    }

    async fn try_once(&self, route: &Route, ask: &Ask, headers: &HeaderMap) -> Result<Trial, Failed> {
        let answer = match &self.places[route.upstream] {
            Place::Http(upstream) => upstream.send(ask, &route.model, headers).await.map_err(Failed::NoAnswer)?,
            Place::Scripted(upstream) => upstream.answer(ask).map_err(Failed::Refused)?,
        };
        if !(200..300).contains(&answer.status) {
            return Ok(Trial::Rejected(reject(answer).await));
        }
        // Until the first byte is here, another try does no harm.
        let Answer { status, headers, mut body, script, pass } = answer;
        let begun = |cause: String| Err(Failed::NoAnswer(NoAnswer { cause, billing: Billing::Possible }));
        let first = match body.next().await {
            Some(Ok(first)) => first,
            Some(Err(error)) => return begun(error.to_string()),
            None => return begun("the answer was empty".to_owned()),
        };
        let shape = Shape::of(&first, headers.get(header::CONTENT_TYPE).map(|label| label.as_bytes()));
        if let Some(status) = error_instead(ask, shape, &first) {
            return Ok(Trial::Rejected(Rejected { status, headers, body: error_of(&first) }));
        }
        let body = stream::once(async { Ok(first) }).chain(body).boxed();
        Ok(Trial::Answered(Answer { status, headers, body, script, pass }, shape))
    }

    /// A text of the upstream as an agent or a log may see it.
    pub(crate) fn without_key(&self, route: &Route, text: &str) -> String {
        let key = self.upstreams[route.upstream].key.expose();
        if key.is_empty() { text.to_owned() } else { text.replace(key, "[key]") }
    }
}

/// Whether a provider may charge for a try after which another is made.
fn may_be_billed(trial: &Result<Trial, Failed>) -> bool {
    let billing = match trial {
        Ok(Trial::Answered(..)) => Billing::None,
        Ok(Trial::Rejected(rejected)) => rejected.billing(),
        Err(failed) => failed.billing(),
    };
    billing == Billing::Possible
}

/// The status that fits a stream that begins with an error: overload is often told so, after a fine header.
fn error_instead(ask: &Ask, shape: Shape, first: &[u8]) -> Option<u16> {
    if shape != Shape::Events {
        return None;
    }
    let mut tap = Tap::new(ask.protocol, shape);
    tap.feed(first);
    if !tap.only_error() {
        return None;
    }
    let error: Value = serde_json::from_slice(&error_of(first)).unwrap_or_default();
    let kind = error.pointer("/error/type").and_then(Value::as_str).unwrap_or("");
    let number = error.pointer("/error/code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    Some(match kind {
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        _ => number.filter(|code| (400..600).contains(code)).unwrap_or(500),
    })
}

/// The first data of an event stream.
fn error_of(first: &[u8]) -> Bytes {
    let text = String::from_utf8_lossy(first);
    let data = text.lines().find_map(|line| line.strip_prefix("data:"));
    Bytes::from(data.unwrap_or_default().trim().to_owned())
}

async fn reject(answer: Answer) -> Rejected {
    let mut body = Vec::new();
    let mut chunks = answer.body;
    // A body that breaks off or is too long still says something with what has come.
    while let Some(Ok(chunk)) = chunks.next().await {
        let room = ERROR_BODY_LIMIT - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == ERROR_BODY_LIMIT {
            break;
        }
    }
    Rejected { status: answer.status, headers: answer.headers, body: body.into() }
}
