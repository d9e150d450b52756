//! An entity-relationship model written as classes, only to be drawn: attributes
//! become members, and counts stand at the ends of the lines.

use merman::diagrams::er::{
    ErAttributeRenderModel, ErDiagramRenderModel, ErEntityRenderModel, ErRelationshipRenderModel,
};
use merman::models::class_diagram::{
    ClassConstants, ClassDiagram, ClassLineTypeConstants, ClassMember, ClassNode, ClassRelation,
    ClassRelationTypeConstants, RelationShape,
};

const CONSTANTS: ClassConstants = ClassConstants {
    line_type: ClassLineTypeConstants { line: 0, dotted_line: 1 },
    relation_type: ClassRelationTypeConstants {
        none: -1,
        aggregation: 0,
        extension: 1,
        composition: 2,
        dependency: 3,
        lollipop: 4,
    },
};

pub(super) fn as_classes(model: &ErDiagramRenderModel) -> ClassDiagram {
    let classes = model.entities.iter().map(|(name, entity)| {
        let class = class(name, entity);
        (class.id.clone(), class)
    });
    ClassDiagram {
        diagram_type: "classDiagram".to_owned(),
        direction: model.direction.clone(),
        acc_title: None,
        acc_descr: None,
        classes: classes.collect(),
        relations: model.relationships.iter().enumerate().map(|(index, r)| relation(model, index, r)).collect(),
        notes: Vec::new(),
        interfaces: Vec::new(),
        namespaces: Default::default(),
        namespace_facade_aliases: Default::default(),
        style_classes: Default::default(),
        constants: CONSTANTS,
    }
}

fn class(name: &str, entity: &ErEntityRenderModel) -> ClassNode {
    let title = title(name, entity);
    ClassNode {
        // The library shows an id that differs from the title.
        id: title.to_owned(),
        type_param: String::new(),
        label: title.to_owned(),
        text: title.to_owned(),
        css_classes: String::new(),
        methods: Vec::new(),
        members: entity.attributes.iter().map(member).collect(),
        annotations: Vec::new(),
        styles: Vec::new(),
        dom_id: entity.id.clone(),
        parent: None,
        link: None,
        link_target: None,
        tooltip: None,
        have_callback: false,
        callback: None,
        callback_effective: false,
    }
}

fn title<'a>(name: &'a str, entity: &'a ErEntityRenderModel) -> &'a str {
    if entity.alias.is_empty() { name } else { &entity.alias }
}

fn title_of(model: &ErDiagramRenderModel, id: &str) -> String {
    let found = model.entities.iter().find(|(_, entity)| entity.id == id);
    found.map_or(id, |(name, entity)| title(name, entity)).to_owned()
}

fn member(attribute: &ErAttributeRenderModel) -> ClassMember {
    let mut text = format!("{} {}", attribute.ty, attribute.name);
    if !attribute.keys.is_empty() {
        text = format!("{text} {}", attribute.keys.join(", "));
    }
    ClassMember {
        member_type: "attribute".to_owned(),
        visibility: String::new(),
        id: text.clone(),
        classifier: String::new(),
        parameters: String::new(),
        return_type: String::new(),
        display_text: text,
        css_style: String::new(),
    }
}

fn relation(model: &ErDiagramRenderModel, index: usize, relation: &ErRelationshipRenderModel) -> ClassRelation {
    let dotted = relation.rel_spec.rel_type == "NON_IDENTIFYING";
    let none = CONSTANTS.relation_type.none;
    let line = &CONSTANTS.line_type;
    ClassRelation {
        id: format!("relation-{index}"),
        id1: title_of(model, &relation.entity_a),
        id2: title_of(model, &relation.entity_b),
        // Mermaid stores each side's count under the other side's letter.
        relation_title_1: Some(count(&relation.rel_spec.card_b)),
        relation_title_2: Some(count(&relation.rel_spec.card_a)),
        title: relation.role_a.clone(),
        relation: RelationShape {
            type1: none,
            type2: none,
            line_type: if dotted { line.dotted_line } else { line.line },
        },
    }
}

fn count(cardinality: &str) -> String {
    match cardinality {
        "ZERO_OR_ONE" => "0..1",
        "ZERO_OR_MORE" => "0..*",
        "ONE_OR_MORE" => "1..*",
        _ => "1",
    }
    .to_owned()
}
