import { useEffect, useMemo, useRef, useState } from 'react'
import type { Drawing, PaletteEntry } from '../../../api/types.ts'
import type { CanvasEditing } from '../../../graph/editing.ts'
import { layout } from '../../../graph/layout.ts'
import { buildModel, type GraphEdge } from '../../../graph/model.ts'
import { copyText } from '../../../ui/clipboard.ts'
import { useShortcuts } from '../../../ui/shortcuts.ts'
import { fragmentOf } from './fragments.ts'
import { addChoices, connectChoices, moveChoices, orderedPalette } from './menus.tsx'
import type { Operation, Position } from './operations.ts'
import { freeBranches, insideOf, isEnd, isStart, refusalOf } from './places.ts'
import { type MenuChoice, SearchMenu } from './SearchMenu.tsx'

interface EditorOptions {
  drawing: Drawing | null
  text: string
  palette: readonly PaletteEntry[]
  isEnabled: boolean
  selected: readonly string[]
  onSelect: (ids: string[]) => void
  perform: (operation: Operation) => Promise<string | null>
}

interface OpenMenu {
  label: string
  at: { x: number; y: number }
  choices: MenuChoice[]
}

/** Editing on the canvas: gestures, keys, menus and the clipboard. Every change is an operation of the server. */
export function useEditor({ drawing, text, palette, isEnabled, selected, onSelect, perform }: EditorOptions) {
  const [menu, setMenu] = useState<OpenMenu | null>(null)
  const entries = useMemo(() => orderedPalette(palette, drawing), [palette, drawing])
  const isFree = drawing ? isFreeGraph(drawing) : false
  const primary = selected[selected.length - 1] ?? null
  const latest = useRef({ drawing, text, selected })
  latest.current = { drawing, text, selected }

  const openAdd = (position: Position, at: { x: number; y: number }) => setMenu({ label: 'Add a step', at, choices: addChoices(entries, position, (operation) => void perform(operation)) })
  const add = (entry: PaletteEntry | undefined) => {
    if (!entry || !drawing) return
    void perform({ op: 'add', step_type: entry.kind, position: nextPosition(drawing, primary, isFree) })
  }
  const openConnect = (from: string, branch: string | null, at: { x: number; y: number }, position: Position | null) => {
    if (!drawing) return
    const added = position ? addChoices(entries, position, (operation) => void perform(operation)) : []
    const targets = connectChoices(drawing, from, branch, (to) => refusalOf(drawing, from, branch, to), (operation) => void perform(operation))
    setMenu({ label: position ? 'Add or connect to…' : `Connect ${branch ? `${branch} of ` : ''}${from} to…`, at, choices: [...added, ...targets] })
  }
  const openMove = (step: string, at: { x: number; y: number }) =>
    drawing && setMenu({ label: `Move ${step} to…`, at, choices: moveChoices(drawing, step, (operation) => void perform(operation)) })

  const remove = (steps: readonly string[]) => {
    const removable = steps.filter((id) => drawing?.nodes.some((node) => node.id === id && node.span))
    if (removable.length > 0) void perform({ op: 'remove', steps: [...removable] })
  }
  const copied = () => (drawing ? fragmentOf(latest.current.text, drawing, latest.current.selected) : null)
  const copy = () => {
    const fragment = copied()
    if (fragment) void copyText(fragment, selected.length === 1 ? primary ?? 'the step' : `${selected.length} steps`)
  }
  const paste = (fragment: string) => void perform({ op: 'paste', fragment, position: primary && drawing ? pastePosition(drawing, primary, isFree) : { at: 'end' } })
  const duplicate = () => {
    const fragment = copied()
    if (fragment) paste(fragment)
  }
  const layOut = async () => {
    if (!drawing || !isFree) return
    const placement = await layout(buildModel(withoutPlaces(drawing), { mode: 'design' }))
    const positions = Object.fromEntries(drawing.nodes.flatMap((node) => {
      const box = placement.nodes[node.id]
      return box ? [[node.id, { x: Math.round(box.x), y: Math.round(box.y) }]] : []
    }))
    if (Object.keys(positions).length > 0) await perform({ op: 'set_positions', positions })
  }

  const onNodeKey = (id: string, event: KeyboardEvent): boolean => {
    const at = placeOf(event.target)
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey
    const many = selected.includes(id) ? selected : [id]
    if (event.key === 'Delete' || event.key === 'Backspace') remove(many)
    else if (event.key === 'Tab' && isPlain && !event.shiftKey && id === primary && drawing) openAdd(nextPosition(drawing, id, isFree), at)
    else if (isPlain && /^[1-9]$/.test(event.key) && entries[Number(event.key) - 1]) addAfter(id, entries[Number(event.key) - 1])
    else if (isPlain && event.key.toLowerCase() === 'c' && isFree && drawing) openConnect(id, freeBranches(drawing, id)[0] ?? null, at, null)
    else if (isPlain && event.key.toLowerCase() === 'm' && !isFree) openMove(id, at)
    else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'd') duplicate()
    else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'a') onSelect(drawing?.nodes.filter((node) => node.span).map((node) => node.id) ?? [])
    else if (event.key === ' ' && event.shiftKey) onSelect(selected.includes(id) ? selected.filter((other) => other !== id) : [...selected, id])
    else return false
    return true
  }
  const addAfter = (id: string, entry: PaletteEntry | undefined) => drawing && entry && void perform({ op: 'add', step_type: entry.kind, position: nextPosition(drawing, id, isFree) })

  const editing: CanvasEditing | null = drawing && isEnabled ? {
    mode: isFree ? 'free' : 'tree',
    onSelectMany: onSelect,
    refusal: (from, branch, to) => refusalOf(drawing, from, branch, to),
    onConnect: (source, handle, target) => void perform({ op: 'connect', source, handle: handle ?? undefined, target }),
    onDropLine: (from, branch, client) => openConnect(from, branch, client, { at: 'below', step: from, branch: branch ?? undefined }),
    onMove: (moves) => void perform({ op: 'set_positions', positions: Object.fromEntries(moves.map(({ id, x, y }) => [id, { x, y }])) }),
    canMoveTo: (id, edge) => canMoveTo(drawing, id, edge),
    onMoveTo: (step, edge) => void perform({ op: 'move', step, position: edgePosition(edge) }),
    onInsert: ({ edge, after, branch }, client) => openAdd(edge ? edgePosition(edge) : { at: 'below', step: after, branch: branch ?? undefined }, client),
    onNodeKey,
  } : null

  useClipboard(isEnabled, copied, paste, () => remove(latest.current.selected))
  useShortcuts([
    ...entries.slice(0, 9).map((entry, index) => ({ keys: String(index + 1), label: `Add ${entry.title.toLowerCase()}`, run: () => add(entry) })),
    ...(isFree ? [{ keys: 'Shift+l', label: 'Lay out the graph', run: () => void layOut() }] : []),
    ...(selected.length > 0 ? [{ keys: 'Delete', label: 'Delete the selected steps', run: () => remove(selected) }] : []),
    { keys: 'Ctrl+d', label: 'Duplicate the selected steps', run: duplicate },
    { keys: 'Escape', label: 'Clear the selection', hidden: true, run: () => onSelect([]) },
  ], isEnabled)

  return {
    editing, isFree, entries, add, copy, remove, layOut,
    openAdd: (at: { x: number; y: number }) => drawing && openAdd(nextPosition(drawing, primary, isFree), at),
    menu: menu && <SearchMenu label={menu.label} at={menu.at} choices={menu.choices} onClose={() => setMenu(null)} />,
  }
}

/** Documents whose nodes are connected by hand have connections instead of an order. */
export function isFreeGraph(drawing: Drawing): boolean {
  return drawing.dialect === 'graph'
}

function edgePosition(edge: GraphEdge): Position {
  return { at: 'edge', from: edge.from, branch: edge.cell ?? undefined, to: edge.to }
}

/** Where the next step goes: below the selected one, else at the end. */
function nextPosition(drawing: Drawing, selected: string | null, isFree: boolean): Position {
  const node = drawing.nodes.find((entry) => entry.id === selected)
  if (!node || isEnd(node)) return { at: 'end' }
  if (!isFree) return isStart(node) ? { at: 'start' } : { at: 'below', step: node.id }
  return { at: 'below', step: node.id, branch: freeBranches(drawing, node.id)[0] ?? undefined }
}

function pastePosition(drawing: Drawing, selected: string, isFree: boolean): Position {
  const node = drawing.nodes.find((entry) => entry.id === selected)
  if (isFree || !node || isStart(node) || isEnd(node)) return { at: 'end' }
  return { at: 'after', step: selected }
}

/** A step cannot be moved into itself, nor to where it is. */
function canMoveTo(drawing: Drawing, id: string, edge: GraphEdge): boolean {
  const inside = insideOf(drawing, id)
  return !inside.has(edge.from) && !inside.has(edge.to) && edge.kind !== 'loop'
}

function withoutPlaces(drawing: Drawing): Drawing {
  return { ...drawing, nodes: drawing.nodes.map((node) => ({ ...node, x: null, y: null })) }
}

function placeOf(target: EventTarget | null): { x: number; y: number } {
  const box = target instanceof Element ? (target.closest('.react-flow__node') ?? target).getBoundingClientRect() : null
  return box ? { x: box.left + 24, y: box.bottom + 6 } : { x: 80, y: 120 }
}

/** Copy, cut and paste on the canvas use the browser's clipboard, so steps can be pasted into an editor and back. */
function useClipboard(isEnabled: boolean, copied: () => string | null, paste: (fragment: string) => void, remove: () => void): void {
  const current = useRef({ copied, paste, remove })
  current.current = { copied, paste, remove }
  useEffect(() => {
    if (!isEnabled) return
    const onCanvas = () => document.activeElement === document.body || document.activeElement?.closest('.canvas') !== null
    const isField = () => document.activeElement?.closest('input, textarea, .cm-editor, .dialog-popup') !== null
    const put = (event: ClipboardEvent) => {
      const fragment = onCanvas() && !isField() ? current.current.copied() : null
      if (!fragment || String(getSelection()) !== '') return
      event.clipboardData?.setData('text/plain', fragment)
      event.preventDefault()
      if (event.type === 'cut') current.current.remove()
    }
    const take = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData('text/plain') ?? ''
      if (!onCanvas() || isField() || text.trim() === '') return
      event.preventDefault()
      current.current.paste(text)
    }
    document.addEventListener('copy', put)
    document.addEventListener('cut', put)
    document.addEventListener('paste', take)
    return () => {
      document.removeEventListener('copy', put)
      document.removeEventListener('cut', put)
      document.removeEventListener('paste', take)
    }
  }, [isEnabled])
}
