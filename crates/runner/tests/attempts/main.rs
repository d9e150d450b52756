//! Attempts with real processes in real sandboxes. Nothing here is skipped: a machine that cannot
//! enforce a tier fails the tests of it.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod life;
#[cfg(test)]
mod support;
#[cfg(test)]
mod walls;
