import type { Drawing, DrawingEdge, DrawingNode } from '../api/types.ts'
import { type Cell, cellOfEdge, cellsOf } from './branches.ts'
import { contract, type Group } from './contract.ts'
import { sizeOf } from './measure.ts'

/** `run` reserves room for outcomes of branches and for votes, so that nothing moves while a run continues. */
export type CanvasMode = 'design' | 'run'

/** How a node is drawn. `folded` represents several steps that are not shown. */
export type Look = 'step' | 'decision' | 'approval' | 'frame' | 'terminal' | 'merge' | 'folded'

/** A node of the drawing. `summary` is one thing worth saying besides its type: "GET", "4 h". */
export type DrawnNode = DrawingNode & { summary?: string | null }

export interface GraphNode {
  id: string
  look: Look
  /** The node of the drawing; for folded steps the first of them. */
  node: DrawnNode
  /** The loop in whose frame the node is drawn. */
  frame: string | null
  cells: Cell[]
  width: number
  height: number
  /** The ids of the nodes that a folded node or a collapsed frame represents. */
  inside: string[]
}

export interface GraphEdge {
  id: string
  from: string
  /** The branch at whose cell the edge starts. */
  cell: string | null
  to: string
  kind: DrawingEdge['kind']
  failure: boolean
  /** The ids of the drawing's edges; several where folded steps are involved. */
  sources: string[]
}

export interface GraphModel {
  /** Identifies the layout: models with the same key have the same nodes, sizes and edges. */
  key: string
  mode: CanvasMode
  nodes: GraphNode[]
  edges: GraphEdge[]
  byId: Map<string, GraphNode>
}

export interface ModelOptions {
  mode: CanvasMode
  /** Frames that are shown as one node, and branches that are shown as one node, too. */
  groups?: Group[]
  /** The branch that a run took, by decision: it is shown even if it is not among the first ones. */
  taken?: ReadonlyMap<string, string>
}

/** What is drawn: frames instead of loop edges, cells instead of edge labels, folded parts as one node. */
export function buildModel(drawing: Drawing, options: ModelOptions): GraphModel {
  const byId = new Map(drawing.nodes.map((node) => [node.id, node]))
  const contracted = contract(drawing, options.groups ?? [])
  const outgoing = groupBy(contracted.edges, (edge) => edge.from)
  const frames = framesOf(contracted.nodes, byId)
  const nodes = contracted.nodes.map((node): GraphNode => {
    const group = contracted.groups.get(node.id)
    const edges = outgoing.get(node.id) ?? []
    const cells = group ? [] : cellsOf(node, edges, options.mode, options.taken?.get(node.id) ?? null)
    const look = group ? (group.kind === 'frame' ? 'step' : 'folded') : lookOf(node, cells, frames)
    const frame = frameOf(node, byId, frames)
    return { id: node.id, look, node, frame, cells, inside: group?.nodes ?? [], ...sizeOf(node, look, cells, options.mode, frame !== null) }
  })
  const model = new Map(nodes.map((node) => [node.id, node]))
  const edges = contracted.edges
    .filter((edge) => edge.from !== edge.to && !isFrameEdge(edge, byId))
    .map((edge): GraphEdge => ({
      id: edge.id, from: edge.from, cell: cellOfEdge(edge, model.get(edge.from)?.cells ?? []), to: edge.to, kind: edge.kind,
      failure: edge.failure, sources: edge.sources,
    }))
  return { key: keyOf(drawing, options, nodes), mode: options.mode, nodes, edges, byId: model }
}

export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** Loops that enclose at least one node. */
function framesOf(nodes: DrawingNode[], byId: Map<string, DrawingNode>): Set<string> {
  const frames = new Set<string>()
  for (const node of nodes) {
    const frame = loopAround(node, byId)
    if (frame) frames.add(frame)
  }
  return frames
}

function frameOf(node: DrawingNode, byId: Map<string, DrawingNode>, frames: Set<string>): string | null {
  const frame = loopAround(node, byId)
  return frame !== null && frames.has(frame) ? frame : null
}

function loopAround(node: DrawingNode, byId: Map<string, DrawingNode>): string | null {
  let parent = node.parent ? byId.get(node.parent) : undefined
  for (let depth = 0; parent && depth < 64; depth++) {
    if (parent.shape === 'loop') return parent.id
    parent = parent.parent ? byId.get(parent.parent) : undefined
  }
  return null
}

function lookOf(node: DrawingNode, cells: Cell[], frames: Set<string>): Look {
  if (isTerminal(node) && cells.length === 0) return 'terminal'
  if (frames.has(node.id)) return 'frame'
  if (/^merge$/.test(node.kind)) return 'merge'
  if (node.shape === 'approval') return 'approval'
  return cells.length > 0 ? 'decision' : 'step'
}

export function isTerminal(node: DrawingNode): boolean {
  return (node.shape === 'start' || node.shape === 'end') && (node.kind === '' || node.kind === 'start' || node.kind === 'end' || node.kind === node.shape)
}

/** Edges between a loop and its own body: the frame shows them. */
function isFrameEdge(edge: { from: string; to: string }, byId: Map<string, DrawingNode>): boolean {
  const [from, to] = [byId.get(edge.from), byId.get(edge.to)]
  return (from?.shape === 'loop' && encloses(from, to, byId)) || (to?.shape === 'loop' && encloses(to, from, byId))
}

function encloses(outer: DrawingNode, inner: DrawingNode | undefined, byId: Map<string, DrawingNode>): boolean {
  let parent = inner?.parent ? byId.get(inner.parent) : undefined
  for (let depth = 0; parent && depth < 64; depth++) {
    if (parent.id === outer.id) return true
    parent = parent.parent ? byId.get(parent.parent) : undefined
  }
  return false
}

function keyOf(drawing: Drawing, options: ModelOptions, nodes: GraphNode[]): string {
  const shown = nodes.map((node) => `${node.id}:${node.width}x${node.height}:${node.cells.map((cell) => cell.width).join(',')}`).join(';')
  return `${drawing.hash}/${options.mode}/${hash(shown)}`
}

/** FNV-1a, for cache keys. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  return (value >>> 0).toString(36)
}
