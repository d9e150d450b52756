//! Search of a repository by meaning: symbols and chunks of its files, ranked by words.
