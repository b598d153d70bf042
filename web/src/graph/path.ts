import type { Box, Placement, Point } from './elkInput.ts'
import { cellWidths } from './measure.ts'
import type { GraphEdge, GraphModel, GraphNode } from './model.ts'

const RADIUS = 7

/** An orthogonal line with rounded corners. The last piece ends `gap` pixels before its target, where the arrowhead is. */
export function roundedPath(points: Point[], gap = 0): string {
  const [first] = points
  if (!first || points.length < 2) return ''
  const line = shorten(points, gap)
  let path = `M${first.x} ${first.y}`
  for (let index = 1; index < line.length - 1; index++) {
    const [before, corner, after] = [line[index - 1], line[index], line[index + 1]]
    if (!before || !corner || !after) continue
    const radius = Math.min(RADIUS, distance(before, corner) / 2, distance(corner, after) / 2)
    const start = towards(corner, before, radius)
    const end = towards(corner, after, radius)
    path += ` L${start.x} ${start.y} Q${corner.x} ${corner.y} ${end.x} ${end.y}`
  }
  const last = line[line.length - 1]
  return last ? `${path} L${last.x} ${last.y}` : path
}

/** The arrowhead of a line, which ends `gap` pixels before its target. */
export function headPath(points: Point[], gap: number): string {
  const last = points[points.length - 1]
  const before = points[points.length - 2]
  if (!last || !before) return ''
  const length = distance(before, last)
  if (length === 0) return ''
  const [x, y] = [(last.x - before.x) / length, (last.y - before.y) / length]
  const tip = { x: last.x - x * (gap - 0.5), y: last.y - y * (gap - 0.5) }
  const base = { x: tip.x - x * 6, y: tip.y - y * 6 }
  return `M${base.x - y * 3} ${base.y + x * 3}L${tip.x} ${tip.y}L${base.x + y * 3} ${base.y - x * 3}Z`
}

function shorten(points: Point[], gap: number): Point[] {
  const last = points[points.length - 1]
  const before = points[points.length - 2]
  if (!last || !before || gap === 0) return points
  return [...points.slice(0, -1), towards(last, before, Math.min(gap, distance(last, before)))]
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y)
}

function towards(from: Point, to: Point, length: number): Point {
  const whole = distance(from, to)
  if (whole === 0) return from
  return { x: from.x + ((to.x - from.x) * length) / whole, y: from.y + ((to.y - from.y) * length) / whole }
}

/** The points of an edge: those of the layout, or a simple bend where a node was moved by hand. */
export function edgePoints(edge: GraphEdge, model: GraphModel, placement: Placement, boxes: ReadonlyMap<string, Box>): Point[] {
  const planned = placement.edges[edge.id]
  const [from, to] = [boxes.get(edge.from), boxes.get(edge.to)]
  if (!from || !to) return planned ?? []
  const isMoved = (id: string, box: Box) => {
    const place = placement.nodes[id]
    return !place || place.x !== box.x || place.y !== box.y
  }
  if (planned && !isMoved(edge.from, from) && !isMoved(edge.to, to)) return planned
  return bend(exitOf(model.byId.get(edge.from), from, edge.cell), { x: to.x + to.width / 2, y: to.y }, from, to)
}

/** Where edges of a branch leave their node. */
export function exitOf(node: GraphNode | undefined, box: Box, cell: string | null): Point {
  const y = box.y + box.height
  if (!node || cell === null) return { x: box.x + box.width / 2, y }
  let left = 0
  const widths = cellWidths(node.cells, box.width)
  for (const [index, width] of widths.entries()) {
    if (node.cells[index]?.name === cell) return { x: box.x + left + width / 2, y }
    left += width
  }
  return { x: box.x + box.width / 2, y }
}

export function bend(start: Point, end: Point, from: Box, to: Box): Point[] {
  if (end.y >= start.y + 20) {
    const middle = Math.round((start.y + end.y) / 2)
    return start.x === end.x ? [start, end] : [start, { x: start.x, y: middle }, { x: end.x, y: middle }, end]
  }
  // The target is above: the line goes around both nodes.
  const side = Math.max(from.x + from.width, to.x + to.width) + 20
  return [start, { x: start.x, y: start.y + 12 }, { x: side, y: start.y + 12 }, { x: side, y: end.y - 12 }, { x: end.x, y: end.y - 12 }, end]
}

/** The distance from a point to a line of points. */
export function nearestPoint(points: Point[], at: Point): number {
  let best = Infinity
  for (let index = 1; index < points.length; index++) {
    const [a, b] = [points[index - 1], points[index]]
    if (!a || !b) continue
    const x = Math.min(Math.max(at.x, Math.min(a.x, b.x)), Math.max(a.x, b.x))
    const y = Math.min(Math.max(at.y, Math.min(a.y, b.y)), Math.max(a.y, b.y))
    best = Math.min(best, Math.hypot(at.x - x, at.y - y))
  }
  return best
}
