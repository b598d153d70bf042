import { type ConnectionLineComponentProps, useConnection, ViewportPortal } from '@xyflow/react'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Icon } from '../ui/icons.tsx'
import type { CanvasEditing } from './editing.ts'
import type { Box, Point } from './elkInput.ts'
import type { GraphEdge, GraphModel } from './model.ts'
import { bend, exitOf, roundedPath } from './path.ts'
import type { DragState } from './useEditing.ts'
import { useGraph } from './context.ts'

/** Above the edges while editing: `+` where a step can be inserted, and the lines on which a dragged step can be dropped. */
export function EditLayer({ model, points, boxes, editing, drag }: {
  model: GraphModel
  points: ReadonlyMap<string, Point[]>
  boxes: ReadonlyMap<string, Box>
  editing: CanvasEditing
  drag: DragState | null
}) {
  const [hovered, setHovered] = useState<string | null>(null)
  if (drag) return <DropTargets drag={drag} points={points} />
  const edge = model.edges.find((other) => other.id === hovered)
  const ends = model.nodes.filter((node) => node.look !== 'frame' && node.node.shape !== 'end' && node.look !== 'folded')
  return (
    <ViewportPortal>
      <svg className="edges edge-hits" width="1" height="1" aria-hidden>
        {model.edges.map((other) => (
          <path key={other.id} className="edge-hit" d={roundedPath(points.get(other.id) ?? [])} onMouseEnter={() => setHovered(other.id)} />
        ))}
      </svg>
      {edge && <PlusButton at={middleOf(points.get(edge.id) ?? [])} label={insertLabel(edge, model)} onClick={(client) => editing.onInsert?.({ edge, after: edge.from, branch: edge.cell }, client)} onLeave={() => setHovered(null)} />}
      {ends.flatMap((node) => {
        const box = boxes.get(node.id)
        if (!box) return []
        const cells = node.cells.length > 0 ? node.cells.filter((cell) => cell.more.length === 0).map((cell) => cell.name) : [null]
        return cells.filter((cell) => !model.edges.some((other) => other.from === node.id && other.cell === cell && other.kind !== 'subagent')).map((cell) => {
          const exit = exitOf(node, box, cell)
          return <PlusButton key={`${node.id}\n${cell}`} at={{ x: exit.x, y: exit.y + 18 }} quiet label={`Add a step after ${node.node.title}${cell ? `, ${cell}` : ''}`} onClick={(client) => editing.onInsert?.({ edge: null, after: node.id, branch: cell }, client)} />
        })
      })}
    </ViewportPortal>
  )
}

function insertLabel(edge: GraphEdge, model: GraphModel): string {
  const title = (id: string) => model.byId.get(id)?.node.title ?? id
  return `Add a step between ${title(edge.from)} and ${title(edge.to)}`
}

function PlusButton({ at, label, quiet, onClick, onLeave }: { at: Point; label: string; quiet?: boolean; onClick: (client: Point) => void; onLeave?: () => void }) {
  return (
    <button
      type="button" className={`edge-plus${quiet ? ' quiet' : ''}`} style={{ transform: `translate(${at.x - 9}px, ${at.y - 9}px)` }} aria-label={label} title={label} tabIndex={-1}
      onMouseLeave={onLeave}
      onClick={(event) => {
        event.stopPropagation()
        const { left, bottom } = event.currentTarget.getBoundingClientRect()
        onClick({ x: left, y: bottom })
      }}
    >
      <Icon of={Plus} size={12} />
    </button>
  )
}

function DropTargets({ drag, points }: { drag: DragState; points: ReadonlyMap<string, Point[]> }) {
  return (
    <ViewportPortal>
      <svg className="edges" width="1" height="1" aria-hidden>
        {drag.targets.map((edge) => <path key={edge.id} className={`drop-line${edge.id === drag.over ? ' over' : ''}`} d={roundedPath(points.get(edge.id) ?? [])} />)}
      </svg>
    </ViewportPortal>
  )
}

/** The last straight piece before the target has the button: it belongs to this edge's own part or to its trunk. */
export function middleOf(points: Point[]): Point {
  let best = { length: -1, x: 0, y: 0 }
  for (let index = 1; index < points.length; index++) {
    const [a, b] = [points[index - 1], points[index]]
    if (!a || !b) continue
    const length = Math.hypot(a.x - b.x, a.y - b.y)
    if (length > best.length) best = { length, x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }
  }
  return best
}

/** The line that is being drawn from a handle, with the reason why it cannot end here. */
export function ConnectionLine({ fromX, fromY, toX, toY }: ConnectionLineComponentProps) {
  const { editing } = useGraph()
  const connection = useConnection()
  const from = { x: fromX, y: fromY }
  const to = { x: toX, y: toY }
  const flat = (at: Point) => ({ ...at, width: 0, height: 0 })
  const refusal = connection.inProgress && connection.toNode ? editing?.refusal?.(connection.fromNode.id, connection.fromHandle?.id || null, connection.toNode.id) ?? null : null
  return (
    <g>
      <path className={`connect-line${refusal ? ' refused' : ''}`} d={roundedPath(bend(from, to, flat(from), flat(to)))} />
      <circle className="connect-end" cx={toX} cy={toY} r={4} />
      {refusal && (
        <foreignObject x={toX + 12} y={toY - 10} width={260} height={60} style={{ overflow: 'visible' }}>
          <span className="tooltip connect-reason">{refusal}</span>
        </foreignObject>
      )}
    </g>
  )
}

