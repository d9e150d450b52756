//! The broker room.
