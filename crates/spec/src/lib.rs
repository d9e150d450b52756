//! The spec room.
