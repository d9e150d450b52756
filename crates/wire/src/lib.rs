//! The wire room.
