import type { Drawing, PaletteEntry } from '../../../api/types.ts'
import { isStart, movePlaces } from './places.ts'
import type { Operation, Position } from './operations.ts'
import type { MenuChoice } from './SearchMenu.tsx'
import { shapeOfGroup, StepTile } from './StepTile.tsx'

/** The types in the order of the palette's keys: what documents consist of first, starts and ends last. */
export function orderedPalette(palette: readonly PaletteEntry[], drawing: Drawing | null): PaletteEntry[] {
  const hasStart = drawing?.nodes.some(isStart) ?? false
  const isEdge = (entry: PaletteEntry) => /start|end/i.test(entry.group)
  const inner = palette.filter((entry) => !isEdge(entry))
  return [...inner, ...palette.filter((entry) => isEdge(entry) && !(hasStart && entry.kind === 'start'))]
}

/** "Add": one entry for each type. */
export function addChoices(palette: readonly PaletteEntry[], position: Position, perform: (operation: Operation) => void): MenuChoice[] {
  return palette.map((entry, index) => ({
    id: `add-${entry.kind}`, group: palette.length > 12 ? `Add · ${entry.group}` : 'Add', label: entry.title, note: palette.length > 12 ? entry.kind : undefined,
    icon: <StepTile kind={entry.kind} shape={shapeOfGroup(entry.group)} />, digit: index < 9 ? String(index + 1) : undefined,
    choose: () => perform({ op: 'add', step_type: entry.kind, position }),
  }))
}

/** "Connect to": the nodes that a line from a handle can lead to. */
export function connectChoices(drawing: Drawing, from: string, branch: string | null, refusal: (to: string) => string | null, perform: (operation: Operation) => void): MenuChoice[] {
  return drawing.nodes.filter((node) => node.id !== from && refusal(node.id) === null).map((node) => ({
    id: `to-${node.id}`, group: 'Connect to', label: node.title, note: node.title === node.id ? node.kind : node.id, icon: <StepTile kind={node.kind} shape={node.shape} />,
    choose: () => perform({ op: 'connect', source: from, handle: branch ?? undefined, target: node.id }),
  }))
}

/** "Move to": every place in the tree that is not inside the moved step. */
export function moveChoices(drawing: Drawing, step: string, perform: (operation: Operation) => void): MenuChoice[] {
  return movePlaces(drawing, step).map((place) => ({
    id: place.id, group: place.group, label: place.label, choose: () => perform({ op: 'move', step, position: place.position }),
  }))
}
