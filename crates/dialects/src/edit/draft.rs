//! A document while it is edited. Every change is checked: it is applied only if the text then reads as the expected document, and
//! if no comment outside the removed parts is lost.

use std::ops::Range;

use branchpoint_expr::{Field, Located, Shape, Span};

use super::fragment::Fragment;
use super::pieces::Pieces;
use super::render::Notation;
use super::{EditError, TextEdit, block_edits, bracket_edits, entries};
use crate::format::edit::Edits;
use crate::format::equivalence;
use crate::format::lines::Lines;
use crate::path::{Segment, at, at_mut, extended, path_text};
use crate::read;

/// A document with its text.
pub(super) struct Draft<'s> {
    source: &'s str,
    pieces: Pieces,
    pub(super) text: String,
    pub(super) document: Located,
    pub(super) notation: Notation,
}

/// Replacements of text, and the parts whose comments are removed with them.
#[derive(Default)]
pub(super) struct Change {
    pub(super) edits: Vec<(Range<usize>, String)>,
    pub(super) removed: Vec<Range<usize>>,
}

impl Change {
    pub(super) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { removed: vec![range.clone()], edits: vec![(range, text.into())] }
    }

    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { edits: vec![(at..at, text.into())], removed: Vec::new() }
    }

    pub(super) fn remove(range: Range<usize>) -> Self {
        Self::replace(range, "")
    }

    pub(super) fn remove_all(removed: Vec<Range<usize>>) -> Self {
        Self { edits: removed.iter().map(|range| (range.clone(), String::new())).collect(), removed }
    }
}

impl<'s> Draft<'s> {
    pub(super) fn new(source: &'s str) -> Result<Self, EditError> {
        let document = read(source).map_err(|findings| EditError::invalid(&findings))?;
        let notation = if crate::reader::is_json(source) { Notation::Json } else { Notation::Yaml };
        Ok(Self { source, pieces: Pieces::new(source), text: source.to_owned(), document, notation })
    }

    /// The edits of the source that make the present text.
    pub(super) fn edits(&self) -> Vec<TextEdit> {
        self.pieces.edits(self.source)
    }

    pub(super) fn get(&self, path: &[Segment]) -> Option<&Located> {
        at(&self.document, path)
    }

    /// Sets the value at a path. Missing objects on the path are added.
    pub(super) fn set(&mut self, path: &[Segment], value: &Located) -> Result<(), EditError> {
        let Some((last, holder)) = path.split_last() else { return Err(EditError::path(path)) };
        let Some(parent) = self.get(holder) else {
            // The holder is missing: it is set with the value in it.
            let Segment::Key(key) = last else { return Err(EditError::path(path)) };
            return self.set(holder, &object(key, value));
        };
        match (&parent.shape, last) {
            (Shape::Object(fields), Segment::Key(key)) => match fields.iter().position(|field| field.key == *key) {
                Some(index) => self.replace(path, index, value),
                None => self.add_field(holder, key, value),
            },
            (Shape::Null, Segment::Key(key)) => self.set(holder, &object(key, value)),
            (Shape::List(items), Segment::Index(index)) if *index < items.len() => self.replace(path, *index, value),
            (Shape::List(items), Segment::Index(index)) if *index == items.len() => {
                self.insert(holder, *index, &[Fragment::of(value)])
            }
            _ => Err(EditError::path(path)),
        }
    }

    /// Removes the field or the item at a path.
    pub(super) fn remove(&mut self, path: &[Segment]) -> Result<(), EditError> {
        match path.split_last() {
            Some((Segment::Index(index), list)) => self.remove_items(list, &[*index]),
            Some((Segment::Key(key), holder)) => {
                let fields = self.get(holder).map(Located::fields).unwrap_or_default();
                let index = fields.iter().position(|field| field.key == *key).ok_or_else(|| EditError::path(path))?;
                let parent = self.get(holder).expect("it has the field");
                let change = if self.is_block(parent) {
                    block_edits::remove_field(&Lines::new(&self.text), parent, index)
                } else {
                    Some(bracket_edits::remove(&self.text, parent, &[index]))
                };
                let mut expected = self.document.clone();
                if let Some(Located { shape: Shape::Object(fields), .. }) = at_mut(&mut expected, holder) {
                    fields.remove(index);
                }
                self.apply(change, &expected, path)
            }
            None => Err(EditError::path(path)),
        }
    }

    /// Removes items of a list, in increasing order of their positions.
    pub(super) fn remove_items(&mut self, list: &[Segment], items: &[usize]) -> Result<(), EditError> {
        let Some(located) = self.get(list).filter(|located| located.items().is_some()) else {
            return Err(EditError::path(list));
        };
        let change = if self.is_block(located) {
            let after = self.after(list);
            after.and_then(|after| block_edits::remove_items(&Lines::new(&self.text), located, after, items))
        } else {
            Some(bracket_edits::remove(&self.text, located, items))
        };
        let mut expected = self.document.clone();
        if let Some(Located { shape: Shape::List(all), .. }) = at_mut(&mut expected, list) {
            let mut index = 0;
            all.retain(|_| {
                index += 1;
                items.binary_search(&(index - 1)).is_err()
            });
        }
        self.apply(change, &expected, list)
    }

    /// Inserts items into a list, which may be null or absent.
    pub(super) fn insert(&mut self, list: &[Segment], index: usize, new: &[Fragment]) -> Result<(), EditError> {
        if self.get(list).is_none() {
            let empty = Located { shape: Shape::List(Vec::new()), span: Span::default() };
            self.set(list, &empty)?;
        }
        let Some(located) = self.get(list) else { return Err(EditError::path(list)) };
        let (items, is_null) = (located.items().unwrap_or_default(), located.is_null());
        if index > items.len() || located.items().is_none() && !is_null {
            return Err(EditError::path(list));
        }
        let is_empty = items.is_empty();
        let parent = list.split_last().and_then(|(_, holder)| self.get(holder));
        let in_block = parent.is_some_and(|parent| self.is_block(parent));
        let lines = Lines::new(&self.text);
        let change = match (is_empty, self.is_block(located)) {
            (true, _) if in_block => {
                self.after(list).and_then(|after| block_edits::first_items(&lines, located, after, new))
            }
            (true, _) => Some(bracket_edits::first_items(&lines, located, new, self.notation)),
            (false, true) => block_edits::insert_items(&lines, located, index, new),
            (false, false) => Some(bracket_edits::insert_items(&lines, located, index, new, self.notation)),
        };
        let mut expected = self.document.clone();
        if let Some(place) = at_mut(&mut expected, list) {
            if place.is_null() {
                place.shape = Shape::List(Vec::new());
            }
            if let Shape::List(all) = &mut place.shape {
                all.splice(index..index, new.iter().map(|item| item.value.clone()));
            }
        }
        self.apply(change, &expected, list)
    }

    /// Moves an item of a list to another position.
    pub(super) fn move_item(&mut self, list: &[Segment], from: usize, to: usize) -> Result<(), EditError> {
        if from == to {
            return Ok(());
        }
        let item = self.fragment(&extended(list, from)).ok_or_else(|| EditError::path(list))?;
        self.insert(list, if to > from { to + 1 } else { to }, &[item])?;
        self.remove_items(list, &[if to > from { from } else { from + 1 }])
    }

    /// An item of a list as it is written, to be inserted elsewhere.
    pub(super) fn fragment(&self, path: &[Segment]) -> Option<Fragment> {
        let (Segment::Index(index), list) = path.split_last()? else { return None };
        let list = self.get(list)?;
        let value = list.items()?.get(*index)?;
        let lines = Lines::new(&self.text);
        if self.is_block(list) {
            Fragment::of_lines(&lines, list, *index)
        } else {
            Fragment::of_brackets(&self.text, value)
        }
    }

    /// Applies replacements inside texts. The caller checks the result.
    pub(super) fn replace_texts(&mut self, edits: &[(Range<usize>, String)]) -> Result<(), EditError> {
        let text = applied(&self.text, edits).ok_or_else(EditError::notation)?;
        let document = read(&text).map_err(|_| EditError::notation())?;
        self.pieces.replace(edits);
        (self.text, self.document) = (text, document);
        Ok(())
    }

    /// Sets fields of several objects at once.
    pub(super) fn set_all(&mut self, fields: &[(Vec<Segment>, Located)]) -> Result<(), EditError> {
        let (mut all, mut expected) = (Change::default(), self.document.clone());
        let lines = Lines::new(&self.text);
        for (path, value) in fields {
            let Some((Segment::Key(key), holder)) = path.split_last() else { return Err(EditError::path(path)) };
            let parent = self.get(holder).filter(|parent| parent.is_object()).ok_or_else(|| EditError::path(path))?;
            let change = self
                .field_change(&lines, parent, key, value)
                .ok_or_else(|| EditError::notation_of(&path_text(path)))?;
            all.edits.extend(change.edits);
            all.removed.extend(change.removed);
            if let Some(Located { shape: Shape::Object(fields), .. }) = at_mut(&mut expected, holder) {
                let new = Field { key: key.clone(), key_span: Span::default(), value: value.clone() };
                match fields.iter_mut().find(|field| field.key == *key) {
                    Some(field) => *field = new,
                    None => fields.push(new),
                }
            }
        }
        all.edits.sort_by_key(|(range, _)| (range.start, range.end));
        self.apply(Some(all), &expected, &[])
    }

    /// The change that sets a field of an object to a value.
    fn field_change(&self, lines: &Lines<'_>, holder: &Located, key: &str, value: &Located) -> Option<Change> {
        let fields = holder.fields();
        match fields.iter().position(|field| &*field.key == key) {
            Some(index) => self.value_change(lines, holder, index, value),
            None if self.is_block(holder) => {
                block_edits::add_field(&Lines::new(&self.text), holder, fields.len(), key, value)
            }
            None => Some(bracket_edits::add_field(lines, holder, fields.len(), key, value, self.notation)),
        }
    }

    fn value_change(&self, lines: &Lines<'_>, holder: &Located, index: usize, value: &Located) -> Option<Change> {
        let (after, old) = match &holder.shape {
            Shape::Object(fields) => (after_colon(&self.text, &fields[index])?, &fields[index].value),
            Shape::List(items) if self.is_block(holder) => {
                (block_edits::after_dash(lines, holder, index)?, &items[index])
            }
            Shape::List(items) => (items[index].span.start as usize, &items[index]),
            _ => return None,
        };
        if self.is_block(holder) {
            block_edits::replace_value(lines, holder, after, old, value)
        } else {
            Some(bracket_edits::replace(lines, after, old, value, self.notation))
        }
    }

    fn replace(&mut self, path: &[Segment], index: usize, value: &Located) -> Result<(), EditError> {
        let holder = self.get(&path[..path.len() - 1]).expect("the caller has found it");
        let change = self.value_change(&Lines::new(&self.text), holder, index, value);
        let mut expected = self.document.clone();
        if let Some(place) = at_mut(&mut expected, path) {
            *place = value.clone();
        }
        self.apply(change, &expected, path)
    }

    fn add_field(&mut self, holder: &[Segment], key: &str, value: &Located) -> Result<(), EditError> {
        let parent = self.get(holder).expect("the caller has found it");
        let index = position_of_new(parent, key);
        let change = if self.is_block(parent) {
            block_edits::add_field(&Lines::new(&self.text), parent, index, key, value)
        } else {
            Some(bracket_edits::add_field(&Lines::new(&self.text), parent, index, key, value, self.notation))
        };
        let mut expected = self.document.clone();
        if let Some(Located { shape: Shape::Object(fields), .. }) = at_mut(&mut expected, holder) {
            fields.insert(index, Field { key: key.into(), key_span: Span::default(), value: value.clone() });
        }
        self.apply(change, &expected, &extended(holder, key))
    }

    /// The position after the colon or the dash of the value at a path.
    fn after(&self, path: &[Segment]) -> Option<usize> {
        let (last, holder) = path.split_last()?;
        let parent = self.get(holder)?;
        match last {
            Segment::Key(key) => after_colon(&self.text, parent.fields().iter().find(|field| field.key == *key)?),
            Segment::Index(index) => block_edits::after_dash(&Lines::new(&self.text), parent, *index),
        }
    }

    /// Whether a comment belongs to a field.
    pub(super) fn has_comments(&self, path: &[Segment]) -> bool {
        let Some((Segment::Key(key), holder)) = path.split_last() else { return false };
        let Some(parent) = self.get(holder).filter(|parent| self.is_block(parent)) else { return false };
        let Some(index) = parent.fields().iter().position(|field| field.key == *key) else { return false };
        let lines = Lines::new(&self.text);
        let entry = entries::of_object(&lines, parent).and_then(|entries| entries.into_iter().nth(index));
        entry.is_some_and(|entry| self.text[entries::bytes(&lines, entry.lead, entry.end)].contains('#'))
    }

    /// Whether a list or an object is written with indentation.
    fn is_block(&self, value: &Located) -> bool {
        let is_filled = !value.fields().is_empty() || value.items().is_some_and(|items| !items.is_empty());
        is_filled && !self.text[value.span.range()].starts_with(['{', '['])
    }

    fn apply(&mut self, change: Option<Change>, expected: &Located, path: &[Segment]) -> Result<(), EditError> {
        let notation = || EditError::notation_of(&path_text(path));
        let mut change = change.ok_or_else(notation)?;
        if self.text.contains("\r\n") {
            for (_, text) in &mut change.edits {
                *text = text.replace("\r\n", "\n").replace('\n', "\r\n");
            }
        }
        let text = applied(&self.text, &change.edits).ok_or_else(notation)?;
        let document = read(&text).map_err(|_| notation())?;
        if document.to_value() != expected.to_value() || !self.keeps_comments(&change, &text) {
            return Err(notation());
        }
        self.pieces.replace(&change.edits);
        (self.text, self.document) = (text, document);
        Ok(())
    }

    /// Whether all comments outside the removed parts are in the new text.
    fn keeps_comments(&self, change: &Change, text: &str) -> bool {
        if self.notation == Notation::Json || !self.text.contains('#') {
            return true;
        }
        let (Some(before), Some(after)) = (equivalence::comments_at(&self.text), equivalence::comments_at(text)) else {
            return false;
        };
        let is_removed = |at: usize| change.removed.iter().any(|range| range.contains(&at));
        let mut after: Vec<String> = after.into_iter().map(|(_, comment)| comment).collect();
        let mut remaining: Vec<String> =
            before.into_iter().filter(|(at, _)| !is_removed(*at)).map(|(_, comment)| comment).collect();
        after.sort_unstable();
        remaining.sort_unstable();
        let mut rest = after.iter();
        remaining.iter().all(|comment| rest.any(|other| other == comment))
    }
}

/// The text with replacements, which are sorted; none if two of them overlap.
fn applied(text: &str, edits: &[(Range<usize>, String)]) -> Option<String> {
    let mut all = Edits::default();
    for (range, by) in edits {
        all.replace(range.clone(), by.as_str());
    }
    all.apply(text)
}

/// The position after the colon of a key.
fn after_colon(text: &str, field: &Field) -> Option<usize> {
    let end = field.key_span.end as usize;
    let rest = text.get(end..)?;
    let colon = rest.find(':')?;
    rest[..colon].trim().is_empty().then_some(end + colon + 1)
}

fn object(key: &str, value: &Located) -> Located {
    let field = Field { key: key.into(), key_span: Span::default(), value: value.clone() };
    Located { shape: Shape::Object(vec![field]), span: Span::default() }
}

/// The position of a new field: before the steps inside of a step, which are at the end, unless it is one of them.
fn position_of_new(object: &Located, key: &str) -> usize {
    let is_step_list = |key: &str| super::steps::STEP_LISTS.contains(&key);
    let fields = object.fields();
    if is_step_list(key) {
        return fields.len();
    }
    let first = fields.iter().position(|field| is_step_list(&field.key) && field.value.items().is_some());
    first.filter(|first| *first > 0).unwrap_or(fields.len())
}
