import type { Box, Placement, Point } from './elkInput.ts'
import { type GraphEdge, type GraphModel, groupBy } from './model.ts'

/**
 * Puts every node that has its row for itself in the middle of its area, so that the trunk of a graph is one straight line.
 *
 * ELK balances each node between its neighbours, which bends the trunk a little at every branch.
 */
export function centreTrunk(placement: Placement, model: GraphModel): Placement {
  const moved = new Map<string, number>()
  for (const [frame, nodes] of groupBy(model.nodes, (node) => node.frame ?? '')) {
    const area = frame === '' ? { x: 0, y: 0, width: placement.width, height: placement.height } : placement.nodes[frame]
    if (!area) continue
    const ids = nodes.map((node) => node.id)
    for (const id of ids) {
      const box = placement.nodes[id]
      if (!box || model.byId.get(id)?.look === 'frame' || !isAlone(id, box, ids, placement)) continue
      const by = Math.round(area.x + area.width / 2) - box.width / 2 - box.x
      if (by !== 0) moved.set(id, by)
    }
  }
  if (moved.size === 0) return placement
  const nodes = Object.fromEntries(Object.entries(placement.nodes).map(([id, box]) => [id, { ...box, x: box.x + (moved.get(id) ?? 0) }]))
  const edges = { ...placement.edges }
  for (const edge of model.edges) {
    const points = placement.edges[edge.id]
    const [from, to] = [moved.get(edge.from) ?? 0, moved.get(edge.to) ?? 0]
    if (points && (from !== 0 || to !== 0)) edges[edge.id] = shifted(points, from, to)
  }
  return { ...placement, nodes, edges }
}

/** Puts a step right below the only step that leads to it, where there is room. ELK does this for steps, but not for frames. */
export function alignChains(placement: Placement, model: GraphModel): Placement {
  const outgoing = groupBy(model.edges, (edge) => edge.from)
  const incoming = groupBy(model.edges, (edge) => edge.to)
  let current = placement
  for (const edge of [...model.edges].sort((a, b) => (placement.nodes[a.to]?.y ?? 0) - (placement.nodes[b.to]?.y ?? 0))) {
    const isChain = outgoing.get(edge.from)?.length === 1 && incoming.get(edge.to)?.length === 1
    const sameArea = model.byId.get(edge.from)?.frame === model.byId.get(edge.to)?.frame
    const [from, to] = [current.nodes[edge.from], current.nodes[edge.to]]
    if (!isChain || !sameArea || !from || !to || to.y < from.y) continue
    const by = Math.round(from.x + from.width / 2 - (to.x + to.width / 2))
    if (by !== 0 && hasRoom(edge, by, current, model)) current = moveTree(edge.to, by, current, model)
  }
  return withMargin(current)
}

/** The same graph, beginning at the margin. */
function withMargin(placement: Placement): Placement {
  const boxes = Object.values(placement.nodes)
  const xs = Object.values(placement.edges).flatMap((points) => points.map((point) => point.x))
  const left = Math.min(...boxes.map((box) => box.x), ...xs.slice(0, 5000))
  const right = Math.max(...boxes.map((box) => box.x + box.width), ...xs.slice(0, 5000))
  const by = MARGIN - left
  const move = <T extends Point>(at: T): T => ({ ...at, x: at.x + by })
  return {
    nodes: Object.fromEntries(Object.entries(placement.nodes).map(([id, box]) => [id, move(box)])),
    edges: Object.fromEntries(Object.entries(placement.edges).map(([id, points]) => [id, points.map(move)])),
    width: right - left + 2 * MARGIN,
    height: placement.height,
  }
}

const GAP = 12
const FRAME_PADDING = 14
const MARGIN = 6

function hasRoom(edge: GraphEdge, by: number, placement: Placement, model: GraphModel): boolean {
  const box = placement.nodes[edge.to]
  if (!box) return false
  const [left, right] = [box.x + by - GAP, box.x + by + box.width + GAP]
  const [top, bottom] = [box.y - 2, box.y + box.height + 2]
  const inside = insideOf(edge.to, model)
  const frame = model.byId.get(edge.to)?.frame
  const area = frame ? placement.nodes[frame] : { x: 0, y: 0, width: placement.width, height: placement.height }
  // Outside of frames there is always room: the whole graph is moved afterwards.
  if (!area || (frame && (left + GAP < area.x + FRAME_PADDING || right - GAP > area.x + area.width - FRAME_PADDING))) return false
  for (const node of model.nodes) {
    const other = placement.nodes[node.id]
    if (!other || inside.has(node.id) || node.frame !== (frame ?? null)) continue
    if (other.x < right && other.x + other.width > left && other.y < bottom && other.y + other.height > top) return false
  }
  return !model.edges.some((other) => !inside.has(other.from) && !inside.has(other.to) && (placement.edges[other.id] ?? []).some((point, index, points) => {
    const next = points[index + 1]
    return next !== undefined && Math.min(point.x, next.x) < right && Math.max(point.x, next.x) > left && Math.min(point.y, next.y) < bottom && Math.max(point.y, next.y) > top
  }))
}

function insideOf(id: string, model: GraphModel): Set<string> {
  const inside = new Set([id])
  for (const node of model.nodes) if (node.frame !== null && inside.has(node.frame)) inside.add(node.id)
  return inside
}

function moveTree(id: string, by: number, placement: Placement, model: GraphModel): Placement {
  const inside = insideOf(id, model)
  const nodes = { ...placement.nodes }
  for (const inner of inside) {
    const box = nodes[inner]
    if (box) nodes[inner] = { ...box, x: box.x + by }
  }
  const edges = { ...placement.edges }
  for (const edge of model.edges) {
    const points = edges[edge.id]
    const [from, to] = [inside.has(edge.from), inside.has(edge.to)]
    if (!points || (!from && !to)) continue
    edges[edge.id] = from && to && edge.from !== id && edge.to !== id ? points.map((point) => ({ ...point, x: point.x + by })) : shifted(points, from ? by : 0, to ? by : 0)
  }
  return { ...placement, nodes, edges }
}

/** No other node and no passing edge is beside it. */
function isAlone(id: string, box: Box, ids: string[], placement: Placement): boolean {
  const top = box.y - 4
  const bottom = box.y + box.height + 4
  const overlaps = (from: number, to: number) => from < bottom && to > top
  for (const other of ids) {
    const beside = placement.nodes[other]
    if (other !== id && beside && overlaps(beside.y, beside.y + beside.height)) return false
  }
  return !Object.values(placement.edges).some((points) => points.some((point, index) => {
    const next = points[index + 1]
    return next !== undefined && Math.min(point.y, next.y) < box.y && Math.max(point.y, next.y) > box.y + box.height
  }))
}

/** The line of an edge whose ends have moved sideways. */
function shifted(points: Point[], from: number, to: number): Point[] {
  const [first, last] = [points[0], points[points.length - 1]]
  if (!first || !last) return points
  const start = { x: first.x + from, y: first.y }
  const end = { x: last.x + to, y: last.y }
  if (points.length === 2) return joined(start, end, Math.round((first.y + last.y) / 2))
  if (points.length === 4) return joined(start, end, points[1]?.y ?? first.y)
  return points.map((point, index) => {
    if (index <= 1 && point.x === first.x) return { ...point, x: start.x }
    return index >= points.length - 2 && point.x === last.x ? { ...point, x: end.x } : point
  })
}

function joined(start: Point, end: Point, y: number): Point[] {
  return start.x === end.x ? [start, end] : [start, { x: start.x, y }, { x: end.x, y }, end]
}
