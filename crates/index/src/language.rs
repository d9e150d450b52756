//! Which files are parsed how: grammar, and which of its nodes define something.

use std::path::Path;

/// A language with a grammar.
pub(crate) struct Language {
    grammar: fn() -> tree_sitter::Language,
    endings: &'static [&'static str],
    /// Nodes that define one thing.
    pub(crate) definitions: &'static [&'static str],
    /// Nodes that define a thing with things in it.
    pub(crate) containers: &'static [&'static str],
}

impl Language {
    pub(crate) fn of(path: &Path) -> Option<&'static Self> {
        let ending = path.extension()?.to_str()?;
        LANGUAGES.iter().find(|language| language.endings.contains(&ending))
    }

    pub(crate) fn parser(&self) -> Option<tree_sitter::Parser> {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&(self.grammar)()).ok()?;
        Some(parser)
    }
}

const SCRIPT: &[&str] = &[
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
    "type_alias_declaration",
    "enum_declaration",
    "lexical_declaration",
    "variable_declaration",
    "abstract_method_signature",
];
const SCRIPT_CONTAINERS: &[&str] =
    &["class_declaration", "abstract_class_declaration", "interface_declaration", "internal_module", "module"];

static LANGUAGES: &[Language] = &[
    Language {
        grammar: || tree_sitter_rust::LANGUAGE.into(),
        endings: &["rs"],
        definitions: &[
            "function_item",
            "function_signature_item",
            "struct_item",
            "enum_item",
            "union_item",
            "const_item",
            "static_item",
            "type_item",
            "macro_definition",
        ],
        containers: &["impl_item", "trait_item", "mod_item"],
    },
    Language {
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        endings: &["ts", "mts", "cts"],
        definitions: SCRIPT,
        containers: SCRIPT_CONTAINERS,
    },
    Language {
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        endings: &["tsx"],
        definitions: SCRIPT,
        containers: SCRIPT_CONTAINERS,
    },
    Language {
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
        endings: &["js", "jsx", "mjs", "cjs"],
        definitions: SCRIPT,
        containers: SCRIPT_CONTAINERS,
    },
    Language {
        grammar: || tree_sitter_python::LANGUAGE.into(),
        endings: &["py", "pyi"],
        definitions: &["function_definition"],
        containers: &["class_definition"],
    },
    Language {
        grammar: || tree_sitter_go::LANGUAGE.into(),
        endings: &["go"],
        definitions: &[
            "function_declaration",
            "method_declaration",
            "type_declaration",
            "const_declaration",
            "var_declaration",
        ],
        containers: &[],
    },
    Language {
        grammar: || tree_sitter_java::LANGUAGE.into(),
        endings: &["java"],
        definitions: &["method_declaration", "constructor_declaration"],
        containers: &[
            "class_declaration",
            "interface_declaration",
            "enum_declaration",
            "record_declaration",
            "annotation_type_declaration",
        ],
    },
    Language {
        grammar: || tree_sitter_c::LANGUAGE.into(),
        endings: &["c", "h"],
        definitions: &[
            "function_definition",
            "type_definition",
            "struct_specifier",
            "enum_specifier",
            "union_specifier",
            "preproc_function_def",
        ],
        containers: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_loads_and_every_node_it_is_asked_for_exists() {
        for language in LANGUAGES {
            let name = language.endings[0];
            assert!(language.parser().is_some(), "{name}");
            let grammar = (language.grammar)();
            for kind in language.definitions.iter().chain(language.containers) {
                let known = grammar.id_for_node_kind(kind, true) != 0;
                assert!(known || name == "js", "{name} has no `{kind}`: types are not in plain JavaScript only");
            }
        }
    }
}
