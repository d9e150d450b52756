//! Attempts with real processes in real sandboxes. Nothing here is skipped: a machine that cannot
//! enforce a tier fails the tests of it.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod escapes;
#[cfg(test)]
mod exhaustion;
#[cfg(test)]
mod life;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod support;
#[cfg(test)]
mod table;
#[cfg(test)]
mod walls;
