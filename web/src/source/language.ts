import { json } from '@codemirror/lang-json'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting, syntaxTree } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view'
import { tags } from '@lezer/highlight'

// The classes of the design: key, string, number, comment, reference, word, operator.
const style = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], class: 'k' },
  { tag: [tags.string, tags.special(tags.string), tags.content, tags.attributeValue], class: 's' },
  { tag: [tags.number], class: 'n' },
  { tag: [tags.comment], class: 'c' },
  { tag: [tags.bool, tags.null, tags.keyword], class: 'w' },
  { tag: [tags.punctuation, tags.separator, tags.bracket, tags.squareBracket, tags.brace, tags.meta], class: 'o' },
])

const REFERENCE = /\{\{[^{}\n]*\}\}|\b(?:step|agent|metadata|inputs|states|loop|vars)\.[A-Za-z_][\w.[\]-]*/g
const PLAIN_NUMBER = /(?<=[:,[]\s*|-\s+)-?\d+(?:\.\d+)?(?:ms|s|m|h|d)?(?=\s*(?:[,}\]]|$|\s#))/g

const reference = Decoration.mark({ class: 'r' })
const number = Decoration.mark({ class: 'n' })

/** Placeholders and paths, and numbers of YAML, which its grammar does not tell apart from text. */
const references = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet

    constructor(view: EditorView) {
      this.decorations = referencesIn(view)
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = referencesIn(update.view)
    }
  },
  { decorations: (plugin) => plugin.decorations },
)

function referencesIn(view: EditorView): DecorationSet {
  const found = []
  const tree = syntaxTree(view.state)
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to;) {
      const line = view.state.doc.lineAt(at)
      if (line.length < 5000) {
        for (const [pattern, mark] of [[REFERENCE, reference], [PLAIN_NUMBER, number]] as const) {
          for (const match of line.text.matchAll(pattern)) {
            const start = line.from + match.index
            const node = tree.resolveInner(start, 1).name
            if (node === 'Comment' || mark === number && node === 'QuotedLiteral') continue
            found.push(mark.range(start, start + match[0].length))
          }
        }
      }
      at = line.to + 1
    }
  }
  return Decoration.set(found, true)
}

export function documentLanguage(isJson: boolean): Extension {
  return [isJson ? json() : yaml(), syntaxHighlighting(style), references]
}
