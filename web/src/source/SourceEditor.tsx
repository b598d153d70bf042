import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, indentWithTab } from '@codemirror/commands'
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit } from '@codemirror/language'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Annotation, Compartment, EditorState, Prec } from '@codemirror/state'
import { drawSelection, EditorView, highlightSpecialChars, hoverTooltip, keymap, lineNumbers } from '@codemirror/view'
import { type Ref, useEffect, useImperativeHandle, useMemo, useRef } from 'react'
import { STYLE_NONCE } from '../api/base.ts'
import { completeDocument } from './completion.ts'
import { cursorContext, isJson } from './cursorContext.ts'
import { definitionAt } from './definitions.ts'
import { documentLanguage } from './language.ts'
import { editorText } from './lineEnds.ts'
import { type Mark, marks as markExtensions, setHighlight, setMarks } from './marks.ts'
import { descriptionOf, propertiesOf, type Schema, schemasAt } from './schema.ts'

export interface SourceHandle {
  focus: () => void
  /** Moves the cursor and scrolls it into view. */
  reveal: (position: number, focus?: boolean) => void
}

export interface SourceProps {
  text: string
  label: string
  readOnly?: boolean
  schema?: Schema | null
  marks?: Mark[]
  highlight?: { from: number; to: number } | null
  onChange?: (text: string) => void
  /** The cursor moved without an edit. */
  onCursor?: (position: number) => void
  onUndo?: () => void
  onRedo?: () => void
  onNextProblem?: (backwards: boolean) => void
  onSave?: () => void
  ref?: Ref<SourceHandle>
}

const fromOutside = Annotation.define<boolean>()

/** The source of a document. Its undo history is the caller's, because the canvas edits the same text. */
export default function SourceEditor(props: SourceProps) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const shownText = useMemo(() => editorText(props.text), [props.text])
  const current = useRef({ props, shownText })
  current.current = { props, shownText }
  const compartments = useRef({ language: new Compartment(), access: new Compartment() })

  useEffect(() => {
    if (!host.current) return
    const { language, access } = compartments.current
    const editor = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: shownText.doc,
        extensions: [
          ...(STYLE_NONCE ? [EditorView.cspNonce.of(STYLE_NONCE)] : []), lineNumbers(), markExtensions(), foldGutter({ openText: '⌄', closedText: '›' }), highlightSpecialChars(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(),
          highlightSelectionMatches(), search({ top: true }), indentUnit.of('  '), EditorState.tabSize.of(2),
          autocompletion({ override: [completeDocument(() => current.current.props.schema ?? null)], icons: false, maxRenderedOptions: 60 }),
          schemaHover(() => current.current.props.schema ?? null), jumpOnClick,
          Prec.high(keymap.of(ownKeys(() => current.current.props))),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...foldKeymap, ...defaultKeymap]),
          language.of(documentLanguage(isJson(props.text))),
          access.of(accessOf(props)),
          EditorView.updateListener.of((update) => {
            const isOutside = update.transactions.some((transaction) => transaction.annotation(fromOutside))
            const { props: own, shownText: shown } = current.current
            if (update.docChanged && !isOutside) own.onChange?.(shown.restore(update.state.doc.toString()))
            else if (update.selectionSet && !isOutside) own.onCursor?.(shown.fromEditor(update.state.selection.main.head))
          }),
        ],
      }),
    })
    view.current = editor
    return () => {
      view.current = null
      editor.destroy()
    }
  }, [])

  useEffect(() => {
    const editor = view.current
    if (!editor) return
    const shown = editor.state.doc.toString()
    if (shown === shownText.doc) return
    editor.dispatch({ changes: smallestChange(shown, shownText.doc), annotations: fromOutside.of(true) })
    if (isJson(shown) !== isJson(props.text)) editor.dispatch({ effects: compartments.current.language.reconfigure(documentLanguage(isJson(props.text))) })
  }, [props.text])

  useEffect(() => {
    view.current?.dispatch({ effects: compartments.current.access.reconfigure(accessOf(props)) })
  }, [props.readOnly, props.label])

  useEffect(() => {
    const marks = (props.marks ?? []).map((mark) => ({ ...mark, from: shownText.toEditor(mark.from), to: shownText.toEditor(mark.to) }))
    view.current?.dispatch({ effects: setMarks.of(marks) })
  }, [props.marks])

  useEffect(() => {
    const lines = props.highlight ? { from: shownText.toEditor(props.highlight.from), to: shownText.toEditor(props.highlight.to) } : null
    view.current?.dispatch({ effects: setHighlight.of(lines) })
  }, [props.highlight?.from, props.highlight?.to])

  useImperativeHandle(props.ref, () => ({
    focus: () => view.current?.focus(),
    reveal: (position, focus) => {
      const editor = view.current
      if (!editor) return
      const at = Math.min(current.current.shownText.toEditor(position), editor.state.doc.length)
      editor.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(editor.state.doc.lineAt(at).from, { y: 'center' }), annotations: fromOutside.of(true) })
      if (focus) editor.focus()
    },
  }))

  return <div className="source-editor" ref={host} />
}

function accessOf(props: SourceProps) {
  return [
    EditorState.readOnly.of(props.readOnly === true), EditorView.editable.of(props.readOnly !== true),
    EditorView.contentAttributes.of({ 'aria-label': props.label, spellcheck: 'false', tabindex: '0', ...(props.readOnly ? { 'aria-readonly': 'true' } : {}) }),
  ]
}

function ownKeys(props: () => SourceProps) {
  const run = (action: ((props: SourceProps) => void) | undefined) => () => {
    action?.(props())
    return true
  }
  return [
    { key: 'Mod-z', run: run((own) => own.onUndo?.()) },
    { key: 'Mod-Shift-z', run: run((own) => own.onRedo?.()) },
    { key: 'Mod-y', run: run((own) => own.onRedo?.()) },
    { key: 'Mod-s', run: run((own) => own.onSave?.()) },
    { key: 'F8', run: run((own) => own.onNextProblem?.(false)), shift: run((own) => own.onNextProblem?.(true)) },
    { key: 'F12', run: (editor: EditorView) => jump(editor, editor.state.selection.main.head) },
    { key: 'Tab', run: acceptCompletion },
    // Escape leaves the editor, so Tab is no trap for the keyboard.
    { key: 'Escape', run: (editor: EditorView) => (editor.contentDOM.blur(), true) },
    indentWithTab,
  ]
}

/** Goes from a reference to the step that it names. */
function jump(editor: EditorView, position: number): boolean {
  const target = definitionAt(editor.state.doc.toString(), position)
  if (target === null) return false
  editor.dispatch({ selection: { anchor: target }, effects: EditorView.scrollIntoView(target, { y: 'center' }) })
  return true
}

const jumpOnClick = EditorView.domEventHandlers({
  mousedown: (event, editor) => {
    if (!event.ctrlKey && !event.metaKey) return false
    const position = editor.posAtCoords({ x: event.clientX, y: event.clientY })
    const isJump = position !== null && jump(editor, position)
    if (isJump) event.preventDefault()
    return isJump
  },
})

/** Shows what a key means. */
function schemaHover(schema: () => Schema | null) {
  return hoverTooltip((view, position) => {
    const root = schema()
    const line = view.state.doc.lineAt(position)
    const word = /^(\s*(?:- )*["']?)([\w$-]+)["']?\s*:/.exec(line.text)
    if (!root || !word) return null
    const from = line.from + (word[1]?.length ?? 0)
    const name = word[2] ?? ''
    if (position < from || position > from + name.length) return null
    const context = cursorContext(view.state.doc.toString(), from)
    if (!context) return null
    const siblings = { ...context.siblings }
    const option = propertiesOf(schemasAt(root, context.path, siblings)).find((entry) => entry.name === name)
    const description = option && descriptionOf([option.schema])
    if (!description) return null
    return {
      pos: from,
      end: from + name.length,
      create: () => {
        const dom = document.createElement('div')
        dom.className = 'src-card'
        const text = document.createElement('p')
        text.textContent = description
        dom.append(text)
        return { dom }
      },
    }
  })
}

/** Replaces only what differs, so the cursor and folded parts stay. */
export function smallestChange(before: string, after: string): { from: number; to: number; insert: string } {
  let start = 0
  const limit = Math.min(before.length, after.length)
  while (start < limit && before[start] === after[start]) start += 1
  let end = 0
  while (end < limit - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) }
}
