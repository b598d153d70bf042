import { BASE_PATH } from '../api/base.ts'
import { type Extension, type Range, RangeSet, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, GutterMarker, gutter, gutterLineClass, hoverTooltip, WidgetType } from '@codemirror/view'

/** A finding with its place in the text. */
export interface Mark {
  from: number
  to: number
  severity: 'error' | 'warning' | 'info'
  message: string
  help: string | null
  kind: string
  fixes: { title: string; apply: () => void }[]
}

export const setMarks = StateEffect.define<Mark[]>()
export const setHighlight = StateEffect.define<{ from: number; to: number } | null>()

const marksField = StateField.define<Mark[]>({
  create: () => [],
  update(marks, transaction) {
    for (const effect of transaction.effects) if (effect.is(setMarks)) return effect.value
    if (!transaction.docChanged) return marks
    // Until the next check, findings move with the text around them.
    return marks.map((mark) => ({ ...mark, from: transaction.changes.mapPos(mark.from), to: transaction.changes.mapPos(mark.to) }))
  },
})

class Lens extends WidgetType {
  private readonly mark: Mark

  constructor(mark: Mark) {
    super()
    this.mark = mark
  }

  override eq(other: Lens): boolean {
    return other.mark.message === this.mark.message && other.mark.severity === this.mark.severity
  }

  override toDOM(): HTMLElement {
    const lens = document.createElement('span')
    lens.className = this.mark.severity === 'error' ? 'lens' : 'lens warn'
    lens.textContent = plain(this.mark.message)
    lens.setAttribute('aria-hidden', 'true')
    return lens
  }
}

const decorations = EditorView.decorations.compute([marksField, 'doc'], (state) => {
  const ranges: Range<Decoration>[] = []
  const lenses = new Map<number, Mark>()
  for (const mark of state.field(marksField)) {
    const from = Math.min(mark.from, state.doc.length)
    const to = Math.min(Math.max(mark.to, from), state.doc.length)
    // A long span would underline whole steps: only its first line is marked.
    const line = state.doc.lineAt(from)
    const end = Math.max(from, Math.min(to, line.to))
    if (end > from) ranges.push(Decoration.mark({ class: mark.severity === 'error' ? 'sq' : 'sq warn' }).range(from, end))
    const known = lenses.get(line.to)
    if (!known || known.severity !== 'error' && mark.severity === 'error') lenses.set(line.to, mark)
  }
  for (const [end, mark] of lenses) ranges.push(Decoration.widget({ widget: new Lens(mark), side: 1 }).range(end))
  return Decoration.set(ranges, true)
})

class SeverityMarker extends GutterMarker {
  private readonly severity: string

  constructor(severity: string) {
    super()
    this.severity = severity
  }

  override eq(other: SeverityMarker): boolean {
    return other.severity === this.severity
  }

  override toDOM(): HTMLElement {
    const sign = document.createElement('span')
    sign.className = this.severity === 'error' ? 'src-sign sev-error' : 'src-sign sev-warning'
    sign.setAttribute('role', 'img')
    sign.setAttribute('aria-label', this.severity === 'error' ? 'Error' : 'Warning')
    return sign
  }
}

const signs = gutter({
  class: 'src-signs',
  markers: (view) => {
    const worst = new Map<number, string>()
    for (const mark of view.state.field(marksField)) {
      const line = view.state.doc.lineAt(Math.min(mark.from, view.state.doc.length)).from
      if (worst.get(line) !== 'error') worst.set(line, mark.severity)
    }
    const markers = [...worst].sort((left, right) => left[0] - right[0]).map(([line, severity]) => new SeverityMarker(severity).range(line))
    return RangeSet.of(markers)
  },
  initialSpacer: () => new SeverityMarker('error'),
})

class HighlightedLine extends GutterMarker {
  override elementClass = 'on'
}

const highlightedLine = new HighlightedLine()

const highlightField = StateField.define<{ from: number; to: number } | null>({
  create: () => null,
  update(range, transaction) {
    for (const effect of transaction.effects) if (effect.is(setHighlight)) return effect.value
    if (!range || !transaction.docChanged) return range
    return { from: transaction.changes.mapPos(range.from), to: transaction.changes.mapPos(range.to) }
  },
})

function highlightedLines(state: { field: (field: typeof highlightField) => { from: number; to: number } | null; doc: { length: number; lineAt: (at: number) => { from: number; to: number } } }): number[] {
  const range = state.field(highlightField)
  if (!range || range.from > state.doc.length) return []
  const lines: number[] = []
  for (let at = range.from; at <= Math.min(range.to, state.doc.length);) {
    const line = state.doc.lineAt(at)
    lines.push(line.from)
    at = line.to + 1
  }
  return lines
}

const highlight = [
  EditorView.decorations.compute([highlightField, 'doc'], (state): DecorationSet =>
    Decoration.set(highlightedLines(state).map((line) => Decoration.line({ class: 'on' }).range(line)))),
  gutterLineClass.compute([highlightField, 'doc'], (state) => RangeSet.of(highlightedLines(state).map((line) => highlightedLine.range(line)))),
]

const hover = hoverTooltip((view, position) => {
  const marks = view.state.field(marksField).filter((mark) => mark.from <= position && position <= Math.max(mark.to, mark.from + 1))
  if (marks.length === 0) return null
  return {
    pos: Math.min(...marks.map((mark) => mark.from)),
    end: Math.max(...marks.map((mark) => mark.to)),
    create: () => ({ dom: findingCard(marks) }),
  }
})

function findingCard(marks: Mark[]): HTMLElement {
  const card = document.createElement('div')
  card.className = 'src-card'
  for (const mark of marks) {
    const entry = document.createElement('div')
    const title = document.createElement('p')
    title.className = mark.severity === 'error' ? 'sev-error' : 'sev-warning'
    title.textContent = sentence(plain(mark.message))
    entry.append(title)
    if (mark.help) {
      const help = document.createElement('p')
      help.className = 'soft'
      help.textContent = sentence(plain(mark.help))
      entry.append(help)
    }
    const foot = document.createElement('p')
    foot.className = 'row'
    for (const fix of mark.fixes) {
      const button = document.createElement('button')
      button.type = 'button'
      button.className = 'btn btn-small'
      button.textContent = plain(fix.title)
      button.onclick = fix.apply
      foot.append(button)
    }
    const link = document.createElement('a')
    link.className = 'link small'
    link.href = `${BASE_PATH}/docs/${encodeURIComponent(mark.kind)}`
    link.textContent = mark.kind
    foot.append(link)
    entry.append(foot)
    card.append(entry)
  }
  return card
}

function plain(text: string): string {
  return text.replaceAll('`', '')
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.?!]$/.test(capital) ? capital : `${capital}.`
}

/** Findings as squiggles, signs, messages at the end of lines and hover cards; and the lines of the selected step. */
export function marks(): Extension {
  return [marksField, decorations, signs, highlightField, highlight, hover]
}
