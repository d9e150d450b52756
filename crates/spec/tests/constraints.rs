//! What each kind of diagram demands of an implementation.

use serde_json::{Value, json};
use spec::{Constraints, Diagram, Spec};

fn parsed(source: &str) -> Value {
    let diagram = Diagram::parse(source).expect("the sample is valid Mermaid");
    Constraints::from_diagrams([&diagram]).to_json()
}

fn statements(source: &str) -> Vec<String> {
    let diagram = Diagram::parse(source).expect("the sample is valid Mermaid");
    let constraints = Constraints::from_diagrams([&diagram]);
    constraints.all().iter().map(|c| format!("{} {} <- {}", c.id, c.kind, c.origin.node)).collect()
}

const SEED: &str = "
flowchart TD
  A[Login Page] --> B{Authenticated?}
  B -->|Yes| C[Dashboard]
  B -->|No| D[Error Page]
";

#[test]
fn the_seeds_example_gives_the_seeds_result() {
    let mut result = parsed(SEED);
    let rows = result.as_object_mut().unwrap().remove("constraints").unwrap();
    assert_eq!(
        result,
        json!({
            "requiredRoutes": ["Login Page", "Dashboard", "Error Page"],
            "requiredComponents": ["AuthenticationCheck"],
            "dataEntities": [],
            "validationRules": [
                { "type": "route_exists", "route": "Login Page" },
                {
                    "type": "conditional_branch",
                    "from": "Authenticated?",
                    "to": ["Dashboard", "Error Page"]
                },
            ],
        })
    );
    assert_eq!(
        rows[3],
        json!({
            "id": "C4",
            "statement": "component `AuthenticationCheck` exists",
            "diagram": 1,
            "node": "B",
            "label": "Authenticated?",
        })
    );
}

#[test]
fn routes_come_from_a_flowchart_of_two_pages() {
    let result = parsed("flowchart TD\nA[Home] --> B[About]");
    assert_eq!(result["requiredRoutes"], json!(["Home", "About"]));
}

#[test]
fn every_constraint_has_its_own_id_and_node() {
    assert_eq!(
        statements(SEED),
        [
            "C1 route `Login Page` exists <- A",
            "C2 route `Dashboard` exists <- C",
            "C3 route `Error Page` exists <- D",
            "C4 component `AuthenticationCheck` exists <- B",
            "C5 `Authenticated?` leads to `Dashboard` (Yes) or `Error Page` (No) <- B",
        ]
    );
}

#[test]
fn a_flowchart_names_stores_parts_and_skips_its_ends() {
    assert_eq!(
        statements("flowchart LR\n s([Start]) --> a[\"Sign-up<br/>Page\"] --> q[[Mailer]] --> d[(Users)] --> e((End))"),
        [
            "C1 route `Sign-up Page` exists <- a",
            "C2 component `Mailer` exists <- q",
            "C3 data entity `Users` exists <- d",
        ]
    );
}

#[test]
fn entities_have_attributes_and_counted_relations() {
    assert_eq!(
        statements("erDiagram\n USER ||--o{ ORDER : places\n USER {\n uuid id PK\n string email UK\n }"),
        [
            "C1 data entity `USER` exists with id, email <- USER",
            "C2 data entity `ORDER` exists <- ORDER",
            "C3 one `USER` places zero or more `ORDER` <- USER",
        ]
    );
}

#[test]
fn a_sequence_demands_its_participants_and_calls_but_not_people_or_replies() {
    assert_eq!(
        statements(
            "sequenceDiagram\n actor U as User\n participant W as Web App\n participant API\n \
             U->>W: submit\n W->>API: POST /login\n API-->>W: 200"
        ),
        [
            "C1 component `Web App` exists <- W",
            "C2 component `API` exists <- API",
            "C3 `User` calls `Web App`: submit <- U",
            "C4 `Web App` calls `API`: POST /login <- W",
        ]
    );
}

#[test]
fn classes_have_members_and_parents() {
    assert_eq!(
        statements(
            "classDiagram\n class Shape {\n +String name\n +area() float\n }\n Shape <|-- Circle\n \
             Square --|> Shape\n Canvas o-- Shape"
        ),
        [
            "C1 component `Shape` exists <- Shape",
            "C2 component `Circle` exists <- Circle",
            "C3 component `Square` exists <- Square",
            "C4 component `Canvas` exists <- Canvas",
            "C5 `Shape` has name, area() <- Shape",
            "C6 `Circle` is a `Shape` <- Circle",
            "C7 `Square` is a `Shape` <- Square",
        ]
    );
}

#[test]
fn states_and_transitions_are_rules() {
    assert_eq!(
        statements("stateDiagram-v2\n [*] --> Draft\n Draft --> Review : submit\n Review --> [*]"),
        [
            "C1 state `Draft` exists <- Draft",
            "C2 state `Review` exists <- Review",
            "C3 `Draft` becomes `Review` on submit <- Draft",
        ]
    );
}

#[test]
fn a_choice_of_a_state_diagram_is_a_branch() {
    let source = "stateDiagram-v2\n state ok <<choice>>\n Check --> ok\n ok --> Done : yes\n ok --> Failed : no";
    let statements = statements(source);
    assert!(statements.iter().any(|s| s.contains("`ok` leads to `Done` (yes) or `Failed` (no)")), "{statements:#?}");
}

#[test]
fn the_same_page_in_two_diagrams_is_one_route() {
    let plan = "# P\n```mermaid\nflowchart TD\nA[Home] --> B[About]\n```\n```mermaid\nflowchart TD\nX[Home] --> Y[Help]\n```\n";
    let constraints = Spec::parse(plan).unwrap().constraints();
    let routes: Vec<_> = constraints
        .required_routes
        .iter()
        .map(|r| (r.id.to_string(), r.name.as_str(), r.origin.diagram, r.origin.node.as_str()))
        .collect();
    assert_eq!(
        routes,
        [("C1".to_owned(), "Home", 1, "A"), ("C2".to_owned(), "About", 1, "B"), ("C3".to_owned(), "Help", 2, "Y"),]
    );
}
