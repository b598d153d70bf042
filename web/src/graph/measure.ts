import type { DrawingNode } from '../api/types.ts'
import type { Cell } from './branches.ts'
import type { CanvasMode, Look } from './model.ts'

// Sizes come from the design, not from the browser: a layout can be computed before anything is drawn, and cached.
export const NODE_WIDTH = 204
const NARROW_WIDTH = 176
export const NODE_HEIGHT = 42
export const FRAME_HEAD = 38
const APPROVAL_WIDTH = 224
const VOTES_HEIGHT = 28
const HEADER_HEIGHT = 32
const NAME_PX = 6.3
const CODE_PX = 6.65

export function cellWidth(name: string, condition: string | null, mode: CanvasMode): number {
  const text = Math.max(name.length * NAME_PX + 16, (condition?.length ?? 0) * CODE_PX)
  return Math.round(Math.min(220, Math.max(mode === 'run' ? 110 : 90, text + 20)))
}

export function sizeOf(node: DrawingNode, look: Look, cells: Cell[], mode: CanvasMode, isFramed = false): { width: number; height: number } {
  if (look === 'terminal') return { width: even(Math.max(52, node.title.length * 6.2 + 24)), height: 22 }
  if (look === 'merge') return { width: even(Math.min(220, node.title.length * 7 + node.kind.length * 6.2 + 52)), height: 30 }
  if (look === 'frame') return { width: 0, height: 0 }
  const width = even(Math.max(NODE_WIDTH, cells.reduce((sum, cell) => sum + cell.width, 0)))
  if (look === 'decision') return { width, height: HEADER_HEIGHT + cellsHeight(cells, mode) }
  if (look === 'approval') {
    const rows = cells.length > 0 ? cellsHeight(cells, mode) : 0
    return { width: Math.max(width, APPROVAL_WIDTH), height: NODE_HEIGHT + (mode === 'run' ? VOTES_HEIGHT : 0) + rows }
  }
  return { width: stepWidth(node, mode, isFramed), height: NODE_HEIGHT }
}

/** Steps with short names are narrower, so that branches fit side by side. */
function stepWidth(node: DrawingNode, mode: CanvasMode, isFramed: boolean): number {
  // In a frame the type is followed by the iteration.
  if (isFramed && mode === 'run') return even(Math.min(240, Math.max(NODE_WIDTH, 52 + (node.kind.length + 6) * 5.6 + 66)))
  const text = Math.max(node.title.length * 7.2, node.kind.length * 5.3)
  return 52 + text + (mode === 'run' ? 66 : 0) <= NARROW_WIDTH - 6 ? NARROW_WIDTH : NODE_WIDTH
}

/** Nodes of even width have their ports at whole pixels, so that straight lines are straight. */
function even(width: number): number {
  return Math.ceil(width / 2) * 2
}

export function cellsHeight(cells: Cell[], mode: CanvasMode): number {
  if (mode === 'run') return 52
  return cells.some((cell) => cell.short !== null) ? 40 : 28
}

/** The widths of cells, stretched to the width of their node. */
export function cellWidths(cells: Cell[], width: number): number[] {
  const sum = cells.reduce((total, cell) => total + cell.width, 0)
  const spare = Math.max(0, width - sum)
  return cells.map((cell) => cell.width + spare / cells.length)
}
