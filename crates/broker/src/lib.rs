//! The only door to model APIs.
//!
//! The shim of an agent attempt runs a [`Gateway`] outside the agent's sandbox, on a unix
//! socket. It adds the key, reserves money before a call, counts what the call cost, turns
//! overload into waits, and writes each call to a log. It never gives a key to the agent,
//! never follows a redirect with one, and never repeats a call once a byte of its answer has
//! been passed on.
//!
//! # Doors
//!
//! | path | protocol |
//! |---|---|
//! | `POST /anthropic/v1/messages`, `/v1/messages` | Anthropic Messages |
//! | `POST /openai/v1/chat/completions`, `/v1/chat/completions` | OpenAI Chat Completions |
//! | `POST /openai/v1/responses`, `/v1/responses` | OpenAI Responses |
//! | `POST /gemini/v1beta/models/{model}:{action}`, `/v1beta/models/…` | Gemini `generateContent`, `streamGenerateContent` |
//! | `POST …/messages/count_tokens`, `…:countTokens` | counting; free, so neither reserved nor recorded |
//! | `GET /openai/v1/models`, `/v1/models` | the models that were granted |
//! | `POST /embeddings` with `{"input": ["…"]}` | OpenAI embeddings, of the one model that was granted for it |
//! | `POST /search` | a search on the web, if one was granted |
//! | `CONNECT host:port` | a tunnel to a listed host, for a program with its own login |
//! | `POST /reported` | what such a program says it has used |
//! | `POST, DELETE /mcp/{name}` | messages to an MCP server over HTTP, if it was granted |
//! | `POST /handed-in` | what the agent's host hands in, by who knows the attempt's nonce |
//! | `POST /mcp/{name}/variables` | the variables of an MCP server inside the sandbox, once |
//!
//! `"model": "provider/model"` picks the granted upstream of that provider; a bare model name
//! goes to the first upstream that speaks the door's protocol.
//!
//! # What is counted
//!
//! Tokens, at the prices of the grant. `inputTokens` of a record never contains what was read
//! from or written to the prompt cache; `reasoningTokens` is a part of `outputTokens`. Fees that
//! are not per token (hosted search, if the user configured it) are not seen here. A call that was
//! abandoned, cut, timed out or tried again may be billed whole, so it is settled at no less than
//! what was reserved for it: its input, and as much output as it was allowed. A request that sets
//! no limit of its own is reserved with 8,192 tokens of output; a provider may give more.
//!
//! # What is passed on
//!
//! Requests are rebuilt from an allow-list per protocol (`request_filter`): tools that the agent
//! runs itself, content that is in the request. Tools of the provider, MCP servers behind it,
//! stored conversations and files, addresses for it to fetch, tiers with other prices and beta
//! headers are not passed on, unless the user configured them; `x-holdpoint-removed` names them.
//!
//! # Using it from `genai` 0.7
//!
//! Give `genai` a `reqwest` client that is bound to the socket, and resolve every model to a
//! base URL that **ends in `/v1/`** (genai appends `messages`, `chat/completions` or
//! `responses` to it). The host is never looked up. The key may be any text: the gateway drops
//! it. The model name must be passed whole, as `provider/model`.
//!
//! ```ignore
//! use genai::adapter::AdapterKind;
//! use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
//! use genai::{Client, ModelIden, ServiceTarget};
//!
//! let http = reqwest::Client::builder()
//!     .unix_socket(socket_path)
//!     .no_proxy()
//!     .build()?;
//! // Anthropic door: (AdapterKind::Anthropic, "http://broker/anthropic/v1/")
//! // Chat door:      (AdapterKind::OpenAI,    "http://broker/openai/v1/")
//! // Responses door: (AdapterKind::OpenAIResp, "http://broker/openai/v1/")
//! // Gemini door:    (AdapterKind::Gemini,    "http://broker/gemini/v1beta/")
//! let resolver = ServiceTargetResolver::from_resolver_fn(
//!     |target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
//!         Ok(ServiceTarget {
//!             endpoint: Endpoint::from_static("http://broker/anthropic/v1/"),
//!             auth: AuthData::from_single("the broker holds the key"),
//!             model: ModelIden::new(AdapterKind::Anthropic, target.model.model_name),
//!         })
//!     },
//! );
//! let client = Client::builder()
//!     .with_reqwest(http)
//!     .with_service_target_resolver(resolver)
//!     .build()?;
//! client.exec_chat_stream("scripted/demo", request, Some(&options)).await?;
//! ```
//!
//! With `ChatOptions`: `with_capture_usage(true)`, `with_capture_content(true)`,
//! `with_capture_tool_calls(true)` and `with_capture_reasoning_content(true)`; the last one is
//! needed to send signed thinking back in the next turn. On the OpenAI adapters genai reads a
//! trailing `-low`, `-medium`, `-high` of a model name as a reasoning effort and cuts it off, so
//! scripts should not be named that way. `tests/it/genai_client.rs` holds all of this.

mod asking;
mod books;
pub mod calls;
mod direct;
mod door;
mod embeddings;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gateway;
mod grant;
mod hand_in;
mod http;
mod mcp;
mod memory;
mod money;
pub mod prices;
mod protocol;
mod public;
pub mod purses;
mod quota;
mod refusal;
mod relay;
mod request;
mod request_filter;
mod request_size;
mod retry;
mod route;
mod scripted;
mod search;
mod strip;
mod syncing;
mod tap;
mod turnstile;
mod usage;

pub use direct::{DirectGrant, HostError, HostPattern};
pub use embeddings::EmbeddingsGrant;
pub use gateway::Gateway;
pub use grant::{Grant, GrantError, HostedFeatures, Secret, Upstream, UpstreamKind};
pub use hand_in::{HandIns, Keep};
pub use mcp::{McpError, McpGrant, McpReach};
pub use money::Micros;
pub use prices::{LongPrice, Price, PriceSource, PriceTable};
pub use protocol::Protocol;
pub use retry::RetryPolicy;
pub use scripted::{Script, ScriptError};
pub use search::{SearchError, SearchGrant};
pub use turnstile::Limits;
