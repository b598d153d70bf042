//! JSON text with the place of every part. The reader of documents lives in an outer crate, which this one may not use.

use branchpoint_expr::{Field, Located, Shape, Span};
use serde_json::{Deserializer, Value};

/// Reads a whole JSON text.
pub(crate) fn read(source: &str) -> Result<Located, String> {
    let mut reader = Reader { source, at: 0 };
    let located = reader.value()?;
    reader.blanks();
    if reader.at == source.len() { Ok(located) } else { Err(format!("something follows the value at {}", reader.at)) }
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Located, String> {
        self.blanks();
        let start = self.at;
        let shape = if self.eat('{') {
            Shape::Object(self.series('}', |reader| {
                let key = reader.value()?;
                let name = key.text().ok_or("a key must be text")?.clone();
                reader.blanks();
                if !reader.eat(':') {
                    return Err(format!("`:` is missing at {}", reader.at));
                }
                Ok(Field { key: name, key_span: key.span, value: reader.value()? })
            })?)
        } else if self.eat('[') {
            Shape::List(self.series(']', Self::value)?)
        } else {
            self.scalar()?
        };
        Ok(Located { shape, span: Span::new(start, self.at) })
    }

    fn series<T>(&mut self, end: char, item: fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut items = Vec::new();
        self.blanks();
        while !self.eat(end) {
            if !items.is_empty() && !self.eat(',') {
                return Err(format!("`,` or `{end}` is missing at {}", self.at));
            }
            items.push(item(self)?);
            self.blanks();
        }
        Ok(items)
    }

    fn scalar(&mut self) -> Result<Shape, String> {
        let start = self.at;
        let mut values = Deserializer::from_str(&self.source[start..]).into_iter::<Value>();
        let value = values.next().ok_or("the text ends too early")?.map_err(|error| error.to_string())?;
        self.at += values.byte_offset();
        Ok(match value {
            Value::Null => Shape::Null,
            Value::Bool(bool) => Shape::Bool(bool),
            Value::String(text) => {
                let written = &self.source[start + 1..self.at - 1];
                let verbatim = (written == text).then(|| u32::try_from(start + 1).expect("examples are short"));
                Shape::Str { text: text.into(), verbatim }
            }
            number => match number.as_i64() {
                Some(int) => Shape::Int(int),
                None => Shape::Float(number.as_f64().ok_or("this is no scalar")?),
            },
        })
    }

    fn blanks(&mut self) {
        let rest = &self.source[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, c: char) -> bool {
        let here = self.source[self.at..].starts_with(c);
        self.at += usize::from(here);
        here
    }
}
