//! A schema as a graph of subschemas with resolved references.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use crate::pattern::PatternCost;
use crate::{APPLIED, CHAIN, PATTERN_BYTES, PATTERNS, SchemaError, limit};

/// The number of a subschema.
pub(crate) type Id = usize;

/// The subschemas of a schema. The first is the whole schema.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

/// The keywords of a subschema that determine the work of a validator.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Subschemas that apply to the same value.
    pub(crate) in_place: Vec<Id>,
    pub(crate) properties: HashMap<String, Id>,
    pub(crate) pattern_properties: Vec<(PatternCost, Id)>,
    /// Subschemas that apply to every property: `additionalProperties`, `unevaluatedProperties`.
    pub(crate) every_property: Vec<Id>,
    pub(crate) property_names: Option<Id>,
    pub(crate) prefix_items: Vec<Id>,
    /// Subschemas that apply to every item: `items`, `contains`, `unevaluatedItems`.
    pub(crate) every_item: Vec<Id>,
    /// The pattern for text.
    pub(crate) pattern: Option<PatternCost>,
    /// Whether the whole value is compared with other values: `const`, `enum`, `uniqueItems`.
    pub(crate) compares: bool,
    /// Whether the validator applies other subschemas again to find evaluated properties or items.
    pub(crate) unevaluated: bool,
    /// The cost of applying it to any value, in steps.
    pub(crate) cost: u64,
}

impl Graph {
    /// Parses a schema.
    pub(crate) fn new(document: &Json) -> Result<Self, SchemaError> {
        let mut reader =
            Reader { document, anchors: HashMap::new(), ids: HashMap::new(), pending: Vec::new(), patterns: 0 };
        reader.collect_anchors(document, &mut String::new());
        reader.id(String::new());
        let mut graph = Self::default();
        while let Some((id, pointer)) = reader.pending.pop() {
            let node = match document.pointer(&pointer) {
                Some(Json::Object(keywords)) => reader.node(keywords, &pointer)?,
                _ => Node { cost: 1, ..Node::default() },
            };
            graph.nodes.resize_with(graph.nodes.len().max(id + 1), Node::default);
            graph.nodes[id] = node;
        }
        Ok(graph)
    }

    /// Rejects schemas with circular references on one value, or whose subschemas apply to one value too often.
    pub(crate) fn check(&self) -> Result<(), SchemaError> {
        let mut applied = vec![Applied::Unknown; self.nodes.len()];
        for id in 0..self.nodes.len() {
            self.applied(id, &mut applied)?;
        }
        Ok(())
    }

    /// Counts how many subschemas apply to a value at a subschema, including referenced ones.
    fn applied(&self, start: Id, applied: &mut [Applied]) -> Result<(), SchemaError> {
        let mut stack = vec![(start, 0)];
        while let Some((id, next)) = stack.pop() {
            match (applied[id], self.nodes[id].in_place.get(next)) {
                (Applied::Known { .. }, _) => {}
                (_, Some(sub)) => {
                    applied[id] = Applied::Open;
                    stack.push((id, next + 1));
                    match applied[*sub] {
                        Applied::Open => {
                            return limit(
                                "a subschema refers to itself without descending into the value; remove the circular reference",
                            );
                        }
                        Applied::Unknown => stack.push((*sub, 0)),
                        Applied::Known { .. } => {}
                    }
                }
                (_, None) => {
                    applied[id] = self.sum(id, applied)?;
                }
            }
        }
        Ok(())
    }

    /// Computes the counts of a subschema from those of the subschemas that apply to the same value.
    fn sum(&self, id: Id, applied: &[Applied]) -> Result<Applied, SchemaError> {
        let node = &self.nodes[id];
        let (mut times, mut levels) = (0_u64, 0);
        for sub in &node.in_place {
            if let Applied::Known { times: of_sub, levels: below } = applied[*sub] {
                times = times.saturating_add(of_sub);
                levels = levels.max(below);
            }
        }
        let factor = if node.unevaluated { 2 } else { 1 };
        let (times, levels) = (times.saturating_mul(factor).saturating_add(1), levels + 1);
        if times > APPLIED {
            let message = "subschemas that refer to each other apply to one value more than";
            return limit(format!("{message} {APPLIED} times; refer to each only once"));
        }
        if levels > CHAIN {
            return limit(format!(
                "more than {CHAIN} subschemas refer to each other in a row; refer to the last directly"
            ));
        }
        Ok(Applied::Known { times, levels })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Applied {
    Unknown,
    /// In progress: a reference to it is circular.
    Open,
    /// How many subschemas apply to one value from here, and how deeply they are nested.
    Known {
        times: u64,
        levels: usize,
    },
}

struct Reader<'d> {
    document: &'d Json,
    /// The JSON pointers of anchors.
    anchors: HashMap<&'d str, String>,
    ids: HashMap<String, Id>,
    pending: Vec<(Id, String)>,
    patterns: usize,
}

impl<'d> Reader<'d> {
    fn collect_anchors(&mut self, value: &'d Json, pointer: &mut String) {
        let length = pointer.len();
        match value {
            Json::Object(object) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = object.get(keyword).and_then(Json::as_str) {
                        self.anchors.insert(anchor, pointer.clone());
                    }
                }
                for (key, value) in object {
                    push(pointer, key);
                    self.collect_anchors(value, pointer);
                    pointer.truncate(length);
                }
            }
            Json::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    push(pointer, &index.to_string());
                    self.collect_anchors(value, pointer);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The number of the subschema at a pointer. A new one is parsed later.
    fn id(&mut self, pointer: String) -> Id {
        let next = self.ids.len();
        *self.ids.entry(pointer).or_insert_with_key(|pointer| {
            self.pending.push((next, pointer.clone()));
            next
        })
    }

    fn node(&mut self, keywords: &'d Map<String, Json>, pointer: &str) -> Result<Node, SchemaError> {
        let mut node = Node { cost: 1 + keywords.len() as u64, ..Node::default() };
        for (keyword, value) in keywords {
            let at = join(pointer, keyword);
            match (&**keyword, value) {
                ("$ref" | "$dynamicRef", Json::String(reference)) => node.in_place.push(self.reference(reference)?),
                ("$id", _) if !pointer.is_empty() => {
                    return Err(SchemaError::Invalid(
                        "`$id` inside of a schema is not supported; use `$anchor`".into(),
                    ));
                }
                ("not" | "if" | "then" | "else", _) => node.in_place.push(self.id(at)),
                ("allOf" | "anyOf" | "oneOf", Json::Array(subs)) => {
                    node.in_place.extend((0..subs.len()).map(|index| self.id(join(&at, &index.to_string()))));
                }
                ("dependentSchemas" | "dependencies", Json::Object(subs)) => {
                    node.in_place.extend(subs.keys().map(|key| self.id(join(&at, key))));
                }
                ("properties", Json::Object(subs)) => {
                    node.properties = subs.keys().map(|key| (key.clone(), self.id(join(&at, key)))).collect();
                }
                ("patternProperties", Json::Object(subs)) => {
                    for pattern in subs.keys() {
                        let cost = self.pattern(pattern)?;
                        node.pattern_properties.push((cost, self.id(join(&at, pattern))));
                    }
                }
                ("propertyNames", _) => node.property_names = Some(self.id(at)),
                ("additionalProperties", _) => node.every_property.push(self.id(at)),
                ("unevaluatedProperties", _) => {
                    node.every_property.push(self.id(at));
                    node.unevaluated = true;
                }
                ("prefixItems", Json::Array(subs)) => {
                    node.prefix_items = (0..subs.len()).map(|index| self.id(join(&at, &index.to_string()))).collect();
                }
                ("items" | "contains", _) => node.every_item.push(self.id(at)),
                ("unevaluatedItems", _) => {
                    node.every_item.push(self.id(at));
                    node.unevaluated = true;
                }
                ("pattern", Json::String(pattern)) => {
                    node.pattern = Some(self.pattern(pattern)?);
                }
                ("enum", Json::Array(values)) => {
                    node.compares = true;
                    node.cost += values.len() as u64;
                }
                ("const", _) | ("uniqueItems", Json::Bool(true)) => node.compares = true,
                ("required", Json::Array(keys)) => node.cost += keys.len() as u64,
                _ => {}
            }
        }
        Ok(node)
    }

    fn pattern(&mut self, pattern: &str) -> Result<PatternCost, SchemaError> {
        self.patterns += 1;
        if self.patterns > PATTERNS {
            return limit(format!("the schema has more than {PATTERNS} regular expressions"));
        }
        if pattern.len() > PATTERN_BYTES {
            return limit(format!("a regular expression of the schema has more than {PATTERN_BYTES} bytes"));
        }
        Ok(PatternCost::new(pattern))
    }

    /// Resolves a reference.
    fn reference(&mut self, reference: &str) -> Result<Id, SchemaError> {
        let invalid = |why: &str| SchemaError::Invalid(format!("the reference `{reference}` {why}"));
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(invalid("leads out of the schema; copy its target into `$defs`"));
        };
        let fragment = decode(fragment).ok_or_else(|| invalid("is not a URI"))?;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            fragment.into_owned()
        } else {
            self.anchors.get(&*fragment).cloned().ok_or_else(|| invalid("has no target in the schema"))?
        };
        if self.document.pointer(&pointer).is_none() {
            return Err(invalid("has no target in the schema"));
        }
        Ok(self.id(pointer))
    }
}

fn join(pointer: &str, key: &str) -> String {
    let mut path = String::with_capacity(pointer.len() + key.len() + 1);
    path.push_str(pointer);
    push(&mut path, key);
    path
}

/// Appends a key to a JSON pointer.
fn push(pointer: &mut String, key: &str) {
    pointer.push('/');
    if key.contains(['~', '/']) {
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(key);
    }
}

/// Decodes the percent-encoding of a URI fragment.
fn decode(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}
