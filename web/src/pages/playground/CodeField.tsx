import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { Annotation, Compartment, EditorState, type Extension, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, drawSelection, EditorView, keymap, lineNumbers, MatchDecorator, ViewPlugin, type ViewUpdate, WidgetType } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'react'
import { STYLE_NONCE } from '../../api/base.ts'
import { type FieldMarks, NO_MARKS } from './marks.ts'

export interface Squiggle {
  from: number
  to: number
  isError: boolean
}

interface CodeFieldProps {
  text: string
  label: string
  /** JSON and YAML are coloured by their grammar, expressions by their words. */
  language: 'json' | 'expression'
  marks?: FieldMarks
  squiggles?: Squiggle[]
  onChange: (text: string) => void
}

const fromOutside = Annotation.define<boolean>()
const setDecorations = StateEffect.define<DecorationSet>()

const decorations = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    for (const effect of transaction.effects) if (effect.is(setDecorations)) return effect.value
    return shown.map(transaction.changes)
  },
  provide: (field) => EditorView.decorations.from(field),
})

/** A small editor: a condition with its values, or a context. */
export default function CodeField(props: CodeFieldProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const current = useRef(props)
  current.current = props
  const language = useRef(new Compartment())
  useEffect(() => {
    if (!host.current) return
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: props.text,
        extensions: [
          STYLE_NONCE ? EditorView.cspNonce.of(STYLE_NONCE) : [], lineNumbers(), history(), drawSelection(), bracketMatching(), decorations,
          EditorState.tabSize.of(2), EditorView.lineWrapping, language.current.of(grammar(props.language)),
          // Escape leaves the editor, so Tab is no trap for the keyboard.
          keymap.of([{ key: 'Escape', run: (editor) => (editor.contentDOM.blur(), true) }, ...historyKeymap, ...defaultKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ 'aria-label': props.label, spellcheck: 'false' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((transaction) => transaction.annotation(fromOutside))) current.current.onChange(update.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [])
  useEffect(() => {
    const editor = view.current
    if (!editor || editor.state.doc.toString() === props.text) return
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.text }, annotations: fromOutside.of(true) })
  }, [props.text])
  useEffect(() => {
    view.current?.dispatch({ effects: language.current.reconfigure(grammar(props.language)) })
  }, [props.language])
  useEffect(() => {
    const editor = view.current
    if (editor && editor.state.doc.toString() === props.text) editor.dispatch({ effects: setDecorations.of(decorationsOf(editor.state, props.marks ?? NO_MARKS, props.squiggles ?? [])) })
  }, [props.marks, props.squiggles, props.text])
  return <div className="code-field" ref={host} />
}

const style = HighlightStyle.define([
  { tag: tags.propertyName, class: 'k' }, { tag: tags.string, class: 's' }, { tag: tags.number, class: 'n' }, { tag: [tags.bool, tags.null], class: 'w' },
])

function grammar(name: CodeFieldProps['language']): Extension {
  return name === 'json' ? [json(), syntaxHighlighting(style)] : words
}

const WORD = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|((?<![\w.])\d+(?:\.\d+)?)|(\$?[A-Za-z_]\w*(?:\.\w+|\[\d+\])+)|\b(and|or|not|in|contains|startsWith|endsWith|matches|any|all|none|one|count|len|filter|map|lower|upper|true|false|nil|null)\b/g

const decorator = new MatchDecorator({
  regexp: WORD,
  decoration: (match) => Decoration.mark({ class: match[1] !== undefined ? 's' : match[2] !== undefined ? 'n' : match[3] !== undefined ? 'r' : 'w' }),
})

/** The words of an expression. The grammar is the server's; colours need no more than this. */
const words = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet

    constructor(view: EditorView) {
      this.decorations = decorator.createDeco(view)
    }

    update(update: ViewUpdate): void {
      this.decorations = decorator.updateDeco(update, this.decorations)
    }
  },
  { decorations: (plugin) => plugin.decorations },
)

function decorationsOf(state: EditorState, marks: FieldMarks, squiggles: Squiggle[]): DecorationSet {
  const found = []
  const length = state.doc.length
  for (const line of marks.decided) if (line <= state.doc.lines) found.push(Decoration.line({ class: 'is-decided' }).range(state.doc.line(line).from))
  for (const { at, text } of marks.hints) if (at <= length) found.push(Decoration.widget({ widget: new HintWidget(text), side: 1 }).range(at))
  for (const { line, kind } of marks.lines) if (line <= state.doc.lines) found.push(Decoration.widget({ widget: new OutcomeWidget(kind), side: 2 }).range(state.doc.line(line).to))
  for (const { from, to, isError } of squiggles) {
    // A finding at the end of the text is shown on the character before it.
    const start = Math.min(from, Math.max(0, length - 1))
    const end = Math.min(Math.max(to, start + 1), length)
    if (start < end) found.push(Decoration.mark({ class: isError ? 'sq' : 'sq warn' }).range(start, end))
  }
  return Decoration.set(found, true)
}

class HintWidget extends WidgetType {
  constructor(private readonly text: string) {
    super()
  }

  override eq(other: HintWidget): boolean {
    return other.text === this.text
  }

  toDOM(): HTMLElement {
    const hint = document.createElement('span')
    hint.className = 'hintv'
    hint.textContent = this.text
    hint.setAttribute('aria-hidden', 'true')
    return hint
  }
}

class OutcomeWidget extends WidgetType {
  constructor(private readonly kind: string) {
    super()
  }

  override eq(other: OutcomeWidget): boolean {
    return other.kind === this.kind
  }

  toDOM(): HTMLElement {
    const mark = document.createElement('span')
    mark.className = `endmark endmark-${this.kind}`
    mark.setAttribute('role', 'img')
    mark.setAttribute('aria-label', this.kind)
    return mark
  }
}
