//! Tables with aligned columns.

use anstyle::Style;

use crate::terminal::{paint, visible_line};

/// The rows as text. The last column is not filled up.
pub(crate) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    // A cell is one line, so that no cell looks like another row.
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| visible_line(cell))).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let heading = line(&headings.map(ToOwned::to_owned), &widths);
    let mut text = paint(Style::new().bold(), &heading) + "\n";
    for row in rows {
        text += &line(&row, &widths);
        text.push('\n');
    }
    text
}

/// Names with their values, one per line.
pub(crate) fn facts(facts: &[(&str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let indent = format!("\n{}", " ".repeat(width + 2));
    let lines = facts.iter().map(|(name, fact)| format!("{name:width$}  {}\n", fact.trim_end().replace('\n', &indent)));
    lines.collect()
}

fn line<const N: usize>(cells: &[String; N], widths: &[usize; N]) -> String {
    let filled = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
    filled.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}
