//! `holdpoint tui`: inbox and runs in a terminal, decided with the keyboard. What is shown and what keys do is pure
//! (`state`, `keys`, `decisions`, `news`, `page`, `prompt`, and the drawing); only `screen` touches the terminal and
//! only `server` the network.

mod ansi;
mod decisions;
mod draw;
mod help;
mod keys;
mod lists;
mod news;
mod page;
mod prompt;
mod screen;
mod seen;
mod server;
mod state;

pub(crate) use screen::run;
