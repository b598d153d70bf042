//! Counts the steps of checking a value before it is checked.

use serde_json::Value as Json;

use crate::graph::{Graph, Id};
use crate::{APPLIED_DEPTH, BYTES_PER_STEP};

/// Visits every subschema that a validator may apply to a value, in the worst case.
pub(crate) struct Meter<'g> {
    graph: &'g Graph,
    limit: u64,
    steps: u64,
}

type Measured<T = ()> = Result<T, String>;

impl<'g> Meter<'g> {
    pub(crate) fn new(graph: &'g Graph, limit: u64) -> Self {
        Self { graph, limit, steps: 0 }
    }

    /// The number of steps, or an error if they exceed the limit.
    pub(crate) fn measure(mut self, value: &Json) -> Measured<u64> {
        self.visit(0, value, 0)?;
        Ok(self.steps)
    }

    fn spend(&mut self, steps: u64) -> Measured {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.limit {
            let message = "checking the value against its schema takes more than";
            return Err(format!("{message} {} steps; return less, or write a simpler schema", self.limit));
        }
        Ok(())
    }

    fn visit(&mut self, id: Id, value: &Json, depth: usize) -> Measured {
        if depth > APPLIED_DEPTH {
            return Err(format!("the schema applies to the value more than {APPLIED_DEPTH} levels deep; nest it less"));
        }
        let node = &self.graph.nodes[id];
        self.spend(node.cost)?;
        // The validator finds evaluated properties and items by applying the subschemas again.
        for _ in 0..=usize::from(node.unevaluated) {
            for sub in &node.in_place {
                self.visit(*sub, value, depth + 1)?;
            }
        }
        if node.compares {
            self.compare(value)?;
        }
        match value {
            Json::String(text) => node.pattern.map_or(Ok(()), |pattern| self.spend(pattern.steps(text))),
            Json::Array(items) => self.items(id, items, depth + 1),
            Json::Object(_) => self.properties(id, value, depth + 1),
            _ => Ok(()),
        }
    }

    fn items(&mut self, id: Id, items: &[Json], depth: usize) -> Measured {
        let node = &self.graph.nodes[id];
        for (index, item) in items.iter().enumerate() {
            for sub in node.prefix_items.get(index).into_iter().chain(&node.every_item) {
                self.visit(*sub, item, depth)?;
            }
        }
        Ok(())
    }

    fn properties(&mut self, id: Id, object: &Json, depth: usize) -> Measured {
        let node = &self.graph.nodes[id];
        for (key, value) in object.as_object().into_iter().flatten() {
            self.spend(1)?;
            for sub in node.properties.get(key).into_iter().chain(&node.every_property) {
                self.visit(*sub, value, depth)?;
            }
            for (pattern, sub) in &node.pattern_properties {
                self.spend(pattern.steps(key))?;
                self.visit(*sub, value, depth)?;
            }
            if let Some(sub) = node.property_names {
                self.visit(sub, &Json::String(key.clone()), depth)?;
            }
        }
        Ok(())
    }

    /// Counts the steps of comparing every part of the value.
    fn compare(&mut self, value: &Json) -> Measured {
        match value {
            Json::String(text) => self.spend(1 + text.len() as u64 / BYTES_PER_STEP),
            Json::Array(items) => {
                self.spend(1)?;
                items.iter().try_for_each(|item| self.compare(item))
            }
            Json::Object(object) => {
                self.spend(1)?;
                object.values().try_for_each(|item| self.compare(item))
            }
            _ => self.spend(1),
        }
    }
}
