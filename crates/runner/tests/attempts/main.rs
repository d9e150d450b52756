//! Attempts with real processes in real sandboxes. Nothing here is skipped: a machine that cannot
//! enforce a tier fails the tests of it.

mod crash;
mod life;
mod support;
mod walls;
