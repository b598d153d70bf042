//! The memory and the budget of one evaluation.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Write};
use std::sync::Arc;

use bumpalo::Bump;
use indexmap::IndexMap;

use crate::Kind;
use crate::context::Context;
use crate::environment::Environment;
use crate::expression::Expression;
use crate::fault::{Outcome, fault};
use crate::limits::{self, Limits};
use crate::pattern::Pattern;
use crate::program::Name;
use crate::value::{
    ListView, Object, ObjectView, Source, Value, View, compare, parse_json, push_canonical, push_json, push_text,
};

/// The memory and the budget of one evaluation. Functions allocate results with it, and charge work before they do it.
///
/// ```
/// use branchpoint_expr::function::{Function, Types};
///
/// let words = Function::new("words", 1..=1, [Types::STR], Types::LIST, |work, arguments| {
///     let text = arguments[0].expect_text("words()")?;
///     work.scan(text.len())?;
///     let words: Vec<_> = text.split_whitespace().map(branchpoint_expr::View::Str).collect();
///     work.list(&words)
/// });
/// # let _ = words;
/// ```
///
/// The memory is a bump arena, which is free until the first allocation. It must contain only plain data, because it runs no
/// destructors.
pub struct Work<'a> {
    pub(crate) bump: &'a Bump,
    limits: &'a Limits,
    steps: Cell<u64>,
    bytes: Cell<usize>,
    regex: Cell<u64>,
    /// The pattern compiled last and the JSON parsed last, because predicates and paths often read the same text again.
    pattern: RefCell<Option<(&'a str, Pattern)>>,
    json: Cell<Option<(&'a str, Option<View<'a>>)>>,
}

/// The context of an expression that is evaluated inside an evaluation.
struct Nested<'n> {
    names: &'n Value,
    environment: &'n Environment,
    steps: Cell<u64>,
}

impl Context for Nested<'_> {
    fn read(&self, name: &Name) -> Option<Source<'_>> {
        self.names.read(name)
    }

    fn environment(&self) -> &Environment {
        self.environment
    }

    fn report_steps(&self, steps: u64) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }
}

impl<'a> Work<'a> {
    #[inline]
    pub(crate) fn new(bump: &'a Bump, limits: &'a Limits) -> Self {
        Self {
            bump,
            limits,
            steps: Cell::new(limits.steps),
            bytes: Cell::new(limits.produced_bytes),
            regex: Cell::new(limits.regex_steps),
            pattern: RefCell::new(None),
            json: Cell::new(None),
        }
    }

    /// Calls a function with values outside an expression, with the default limits.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, function::Work};
    /// let length = Work::with(&[&Value::from("abc")], |_, arguments| Ok(arguments[0].expect_text("len()")?.len()));
    /// assert_eq!(length.unwrap(), 3);
    /// ```
    pub fn with<T>(values: &[&Value], run: impl for<'w> FnOnce(&Work<'w>, &[View<'w>]) -> Outcome<T>) -> Outcome<T> {
        let bump = Bump::new();
        let arguments: Vec<_> = values.iter().map(|value| value.view()).collect();
        run(&Work::new(&bump, &Limits::DEFAULT), &arguments)
    }

    /// Charges steps.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// assert!(Work::with(&[], |work, _| work.spend(1_000)).is_ok());
    /// assert!(Work::with(&[], |work, _| work.spend(usize::MAX)).is_err());
    /// ```
    pub fn spend(&self, steps: usize) -> Outcome<()> {
        match self.steps.get().checked_sub(steps as u64) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => fault(Kind::StepLimit, format!("the evaluation takes more than {} steps", self.limits.steps)),
        }
    }

    /// The work so far, in steps: parts and bytes read, regular expression steps and bytes produced.
    pub(crate) fn steps_used(&self) -> u64 {
        let bytes = (self.limits.produced_bytes - self.bytes.get()) / limits::BYTES_PER_STEP;
        let regex = (self.limits.regex_steps - self.regex.get()) / limits::REGEX_STEPS_PER_STEP;
        (self.limits.steps - self.steps.get()) + bytes as u64 + regex
    }

    /// Evaluates an expression that a function has compiled, within the remaining budget of this evaluation.
    ///
    /// ```
    /// # use branchpoint_expr::{Expression, Options, Value, function::Work};
    /// let sum = Expression::compile("inputs.a + 1", Options::default()).unwrap();
    /// let names = serde_json::from_str(r#"{"inputs": {"a": 2}}"#).unwrap();
    /// let value = Work::with(&[], |work, _| work.evaluate(&sum, &names));
    /// assert_eq!(value.unwrap(), Value::Int(3));
    /// ```
    pub fn evaluate(&self, expression: &Expression, names: &Value) -> Outcome<Value> {
        let limits = Limits {
            steps: self.steps.get(),
            produced_bytes: self.bytes.get(),
            regex_steps: self.regex.get(),
            ..*self.limits
        };
        let environment = Environment { limits, ..Environment::default() };
        let nested = Nested { names, environment: &environment, steps: Cell::new(0) };
        let result = expression.value(&nested);
        self.spend(usize::try_from(nested.steps.get()).unwrap_or(usize::MAX))?;
        result.or_else(|error| fault(error.detail, error.message))
    }

    /// Charges reading bytes of text.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// assert!(Work::with(&[], |work, _| work.scan("a long text".len())).is_ok());
    /// ```
    #[inline]
    pub fn scan(&self, bytes: usize) -> Outcome<()> {
        if bytes < limits::BYTES_PER_STEP { Ok(()) } else { self.spend(bytes / limits::BYTES_PER_STEP) }
    }

    /// Charges bytes before they are produced.
    pub(crate) fn reserve(&self, bytes: usize) -> Outcome<()> {
        self.left_after(bytes).map(|left| self.bytes.set(left))
    }

    /// Checks that a list of this many elements fits in the budget, without charging it, while the elements are collected.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// assert!(Work::with(&[], |work, _| work.check_room(usize::MAX)).is_err());
    /// ```
    pub fn check_room(&self, elements: usize) -> Outcome<()> {
        self.left_after(elements.saturating_mul(size_of::<View<'_>>())).map(drop)
    }

    fn left_after(&self, bytes: usize) -> Outcome<usize> {
        self.bytes.get().checked_sub(bytes).map_or_else(|| self.too_large(), Ok)
    }

    /// Allocates text and charges its bytes.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// assert_eq!(Work::with(&[], |work, _| Ok(work.text("hi")?.to_string())).unwrap(), "hi");
    /// ```
    pub fn text(&self, text: &str) -> Outcome<View<'a>> {
        self.reserve(text.len())?;
        Ok(View::Str(self.bump.alloc_str(text)))
    }

    /// Allocates a list and charges its bytes.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// let list = Work::with(&[], |work, _| Ok(work.list(&[View::Int(1), View::Null])?.to_string()));
    /// assert_eq!(list.unwrap(), "[1,null]");
    /// ```
    pub fn list(&self, items: &[View<'a>]) -> Outcome<View<'a>> {
        self.reserve(size_of_val(items))?;
        Ok(View::List(ListView::Made(self.bump.alloc_slice_copy(items))))
    }

    /// Allocates an object with unique keys and charges its bytes.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// let object = Work::with(&[], |work, _| Ok(work.object(&[("a", View::Int(1))])?.to_string()));
    /// assert_eq!(object.unwrap(), r#"{"a":1}"#);
    /// ```
    pub fn object(&self, entries: &[(&'a str, View<'a>)]) -> Outcome<View<'a>> {
        self.reserve(size_of_val(entries))?;
        Ok(View::Object(ObjectView::Made(self.bump.alloc_slice_copy(entries))))
    }

    /// The value of a key; charges the lookup.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// let context = Value::from(&serde_json::json!({"a": 1}));
    /// let field = Work::with(&[&context], |work, arguments| {
    ///     Ok(work.field(arguments[0].expect_object("get()")?, "a")?.is_some())
    /// });
    /// assert!(field.unwrap());
    /// ```
    pub fn field(&self, object: ObjectView<'a>, key: &str) -> Outcome<Option<View<'a>>> {
        let cost = object.lookup_cost();
        if cost > 1 {
            self.spend(cost)?;
        }
        Ok(object.get(key))
    }

    /// Structural equality.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// assert!(Work::with(&[], |work, _| work.equal(&View::Int(1), &View::Float(1.0))).unwrap());
    /// ```
    #[inline(always)]
    pub fn equal(&self, left: &View<'_>, right: &View<'_>) -> Outcome<bool> {
        compare::equal(left, right, &|parts, depth| {
            self.check_depth(depth)?;
            self.spend(parts)
        })
    }

    /// The text form, without a copy if the value is text.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// assert_eq!(Work::with(&[], |work, _| Ok(work.text_form(View::Int(1))?.to_owned())).unwrap(), "1");
    /// ```
    pub fn text_form(&self, view: View<'a>) -> Outcome<&'a str> {
        match view.as_str() {
            Some(text) => Ok(text),
            None => self.write_bounded(|out| push_text(out, view)).map(|text| &*self.bump.alloc_str(&text)),
        }
    }

    /// Compact JSON, with quoted text.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// assert_eq!(Work::with(&[], |work, _| Ok(work.json_form(View::Str("a"))?.to_owned())).unwrap(), "\"a\"");
    /// ```
    pub fn json_form(&self, view: View<'a>) -> Outcome<&'a str> {
        self.write_bounded(|out| push_json(out, view)).map(|text| &*self.bump.alloc_str(&text))
    }

    /// A text that is the same exactly for equal values.
    pub(crate) fn canonical(&self, view: View<'_>) -> Outcome<String> {
        self.write_bounded(|out| push_canonical(out, view))
    }

    fn write_bounded(&self, write: impl FnOnce(&mut BoundedText) -> fmt::Result) -> Outcome<String> {
        let mut out = BoundedText { text: String::new(), most: self.bytes.get(), full: false };
        match write(&mut out) {
            Ok(()) => self.reserve(out.text.len()).map(|()| out.text),
            Err(_) if out.full => self.too_large(),
            Err(_) => self.too_deep(),
        }
    }

    /// Converts to an owned value and checks its size. Shared parts stay shared and count each time.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// assert_eq!(Work::with(&[], |work, _| work.value(View::Int(1))).unwrap(), Value::Int(1));
    /// ```
    pub fn value(&self, view: View<'_>) -> Outcome<Value> {
        let value = self.owned(view, 0)?;
        if value.size().bytes > self.limits.value_bytes {
            return fault(Kind::ValueLimit, limits::value_message(self.limits.value_bytes));
        }
        Ok(value)
    }

    fn owned(&self, view: View<'_>, depth: u16) -> Outcome<Value> {
        match view {
            View::Str(text) => self.reserve(text.len())?,
            View::List(list @ (ListView::Json(_) | ListView::Made(_) | ListView::Range(..))) => {
                self.check_depth(depth)?;
                self.reserve(list.len().saturating_mul(size_of::<Value>()))?;
                let items: Outcome<Vec<_>> = list.iter().map(|item| self.owned(item, depth + 1)).collect();
                return items.map(Value::from);
            }
            View::Object(object @ (ObjectView::Json(_) | ObjectView::Made(_))) => {
                self.check_depth(depth)?;
                self.reserve(object.len().saturating_mul(size_of::<(Arc<str>, Value)>()))?;
                let entries: Outcome<Object> = object
                    .iter()
                    .map(|(key, value)| {
                        self.reserve(key.len())?;
                        Ok((key.into(), self.owned(value, depth + 1)?))
                    })
                    .collect();
                return entries.map(Value::from);
            }
            _ => {}
        }
        Ok(view.to_value())
    }

    /// Allocates an object. The last entry of each key wins.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// let object = Work::with(&[], |work, _| {
    ///     let object = work.object_of([("a", View::Int(1)), ("a", View::Int(2))])?;
    ///     work.value(object)
    /// });
    /// assert_eq!(object.unwrap().get("a"), Some(&Value::Int(2)));
    /// ```
    pub fn object_of(&self, entries: impl IntoIterator<Item = (&'a str, View<'a>)>) -> Outcome<View<'a>> {
        let entries: IndexMap<_, _, foldhash::fast::RandomState> = entries.into_iter().collect();
        self.object(&entries.into_iter().collect::<Vec<_>>())
    }

    /// Joins texts with a separator.
    ///
    /// ```
    /// # use branchpoint_expr::function::Work;
    /// let joined = Work::with(&[], |work, _| Ok(work.join(["a", "b"].map(Ok), ", ")?.to_string()));
    /// assert_eq!(joined.unwrap(), "a, b");
    /// ```
    pub fn join(&self, texts: impl IntoIterator<Item = Outcome<&'a str>>, separator: &str) -> Outcome<View<'a>> {
        let mut joined = String::new();
        for (index, text) in texts.into_iter().enumerate() {
            let text = text?;
            // Empty texts also cost a byte, because a list of them may be long.
            self.reserve(text.len() + separator.len() + 1)?;
            joined.push_str(if index > 0 { separator } else { "" });
            joined.push_str(text);
        }
        Ok(View::Str(self.bump.alloc_str(&joined)))
    }

    /// Whether two values are equal or have the same text form ignoring case.
    ///
    /// ```
    /// # use branchpoint_expr::{View, function::Work};
    /// assert!(Work::with(&[], |work, _| work.same(View::Str("Yes"), View::Str("yes"))).unwrap());
    /// ```
    pub fn same(&self, left: View<'a>, right: View<'a>) -> Outcome<bool> {
        if self.equal(&left, &right)? {
            return Ok(true);
        }
        let (left, right) = (self.text_form(left)?, self.text_form(right)?);
        self.scan(left.len() + right.len())?;
        Ok(left.chars().flat_map(char::to_lowercase).eq(right.chars().flat_map(char::to_lowercase)))
    }

    /// Fails if the depth exceeds the limit.
    ///
    /// ```
    /// # use branchpoint_expr::{Kind, function::Work};
    /// let error = Work::with(&[], |work, _| work.check_depth(1_000)).unwrap_err();
    /// assert_eq!(error.kind, Kind::DepthLimit);
    /// ```
    #[inline]
    pub fn check_depth(&self, depth: u16) -> Outcome<()> {
        if depth < self.limits.depth() { Ok(()) } else { self.too_deep() }
    }

    #[cold]
    fn too_large<T>(&self) -> Outcome<T> {
        fault(Kind::SizeLimit, format!("the evaluation produces more than {} bytes", self.limits.produced_bytes))
    }

    #[cold]
    fn too_deep<T>(&self) -> Outcome<T> {
        fault(Kind::DepthLimit, format!("the value is nested more than {} levels deep", self.limits.depth()))
    }

    /// Parses JSON text. The inner error is a message.
    ///
    /// ```
    /// # use branchpoint_expr::{Value, View, function::Work};
    /// let is_list = |text: &str| Work::with(&[], |work, _| Ok(matches!(work.json(text)?, Ok(View::List(_)))));
    /// assert!(is_list("[1]").unwrap() && !is_list("[1").unwrap());
    /// ```
    pub fn json(&self, text: &str) -> Outcome<Result<View<'a>, String>> {
        // A parsed value takes several times the bytes of its text.
        self.reserve(text.len().saturating_mul(4))?;
        Ok(parse_json(text, self.bump).map_err(|error| error.to_string()))
    }

    /// Parses a list or object from JSON in a text.
    pub(crate) fn json_inside(&self, text: &'a str) -> Outcome<Option<View<'a>>> {
        if !text.trim_start().starts_with(['{', '[']) {
            return Ok(None);
        }
        if let Some((known, inside)) = self.json.get()
            && std::ptr::eq(known, text)
        {
            return Ok(inside);
        }
        let inside = self.json(text)?.ok();
        self.json.set(Some((text, inside)));
        Ok(inside)
    }

    /// Searches a text for a pattern.
    pub(crate) fn search(&self, pattern: &Pattern, text: &str) -> Outcome<bool> {
        self.spend_regex(pattern.cost(text))?;
        Ok(pattern.is_match(text)?)
    }

    /// Replaces every match of a pattern in a text.
    pub(crate) fn replace(&self, pattern: &Pattern, text: &str, substitution: &str) -> Outcome<String> {
        self.spend_regex(pattern.cost(text))?;
        Ok(pattern.replace_all(text, substitution, self.bytes.get())?)
    }

    /// Compiles a computed RE2 pattern.
    pub(crate) fn re2(&self, text: &'a str) -> Outcome<Pattern> {
        if let Some((known, pattern)) = &*self.pattern.borrow()
            && *known == text
        {
            return Ok(pattern.clone());
        }
        self.compile(text)?;
        let pattern = Pattern::re2(text)?;
        self.pattern.replace(Some((text, pattern.clone())));
        Ok(pattern)
    }

    /// Compiles a computed Python pattern.
    pub(crate) fn python(&self, text: &str) -> Outcome<Pattern> {
        self.compile(text)?;
        Ok(Pattern::python(text)?)
    }

    fn compile(&self, text: &str) -> Outcome<()> {
        let parts = 1 + text.len() as u64 / limits::REGEX_COMPILE_BYTES;
        self.spend_regex(parts.saturating_mul(limits::REGEX_COMPILE_STEPS))
    }

    fn spend_regex(&self, steps: u64) -> Outcome<()> {
        match self.regex.get().checked_sub(steps) {
            Some(left) => {
                self.regex.set(left);
                Ok(())
            }
            None => Err(crate::pattern::PatternError::TooMuchWork.into()),
        }
    }
}

/// A text that fails to grow beyond the budget.
struct BoundedText {
    text: String,
    most: usize,
    full: bool,
}

impl Write for BoundedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.full = self.text.len() + part.len() > self.most;
        if self.full {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}
