//! The server: HTTP and live faces over the engine. It translates and guards; it has no rules of its own.
//! Never reads the process's environment: the command line hands it in.

mod app;
mod body;
mod channels;
mod compare;
mod compose;
mod config;
mod estimate;
mod from_wire;
mod gate;
mod home;
mod http;
mod idle;
mod kin;
mod live;
mod metrics;
mod models;
mod news;
mod once;
mod pages;
mod people;
mod place;
mod playbooks;
mod problem;
mod queue;
mod rights;
mod scope;
mod serve;
mod shelf;
mod tags;
mod to_wire;

pub use app::{App, AppParts, LiveLimits};
pub use config::{Defaults, SettingsError, Setup};
pub use gate::TokenFile;
pub use home::{Home, HomeError};
pub use http::{openapi, router};
pub use people::People;
pub use place::{BadProxy, Place, Proxy};
pub use playbooks::{playbook_problem, playbook_view};
pub use serve::{Ready, ServeError, Settings, serve};
pub use shelf::{Reading, Shelf, Talking, Telling};
