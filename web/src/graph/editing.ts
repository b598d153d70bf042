import type { Point } from './elkInput.ts'
import type { GraphEdge } from './model.ts'

/**
 * What the editor of a workflow adds to the canvas. The canvas reports gestures; the page changes the document and passes a new drawing.
 *
 * - `free`: nodes are placed by hand and connected by dragging from handles (`graph`).
 * - `tree`: nodes are dragged onto edges only, so that a tree stays a tree (`steps`).
 */
export interface CanvasEditing {
  mode: 'free' | 'tree'
  /** Several nodes are selected by a box (`Shift` and drag) or `Shift` click. `onSelect` still reports the last one. */
  onSelectMany?: (ids: string[]) => void
  /** Why two nodes cannot be connected, shown at the pointer; null if they can. */
  refusal?: (from: string, branch: string | null, to: string) => string | null
  onConnect?: (from: string, branch: string | null, to: string) => void
  /** A line was dropped on the empty canvas. `client` is the place in the window, `canvas` the place in the graph. */
  onDropLine?: (from: string, branch: string | null, client: Point, canvas: Point) => void
  /** Nodes were dragged to new places (`free`). */
  onMove?: (moves: { id: string; x: number; y: number }[]) => void
  /** Whether a node may be dropped on an edge (`tree`). Edges that may not be used show no drop position. */
  canMoveTo?: (id: string, edge: GraphEdge) => boolean
  onMoveTo?: (id: string, edge: GraphEdge) => void
  /** The `+` of an edge, or the one below a node that leads nowhere (`edge` is null). */
  onInsert?: (place: { edge: GraphEdge | null; after: string; branch: string | null }, client: Point) => void
  /** Keys on a focused node that the canvas does not handle itself (Delete, C, Tab, …). Return true if handled. */
  onNodeKey?: (id: string, event: KeyboardEvent) => boolean
}

/** Places of nodes that were set by hand (`graph` keeps the author's x and y). */
export type Places = Readonly<Record<string, Point>>
