//! The drivers room.
