import { memo, useMemo } from 'react'
import type { Point } from './elkInput.ts'
import { type GraphModel, groupBy } from './model.ts'
import { roundedPath } from './path.ts'
import { EDGE_ORDER, type EdgeLook } from './states.ts'

const HEAD = 2
/** Lines in one path element. A few hundred edges are a handful of elements, and far away ones are not painted. */
const CHUNK = 60

interface Line {
  d: string
  hasHead: boolean
}

/** All edges of a graph. They are drawn by look, so that the important line lies above where edges share a trunk. */
export const EdgeLayer = memo(function EdgeLayer({ model, points, looks }: {
  model: GraphModel
  points: ReadonlyMap<string, Point[]>
  looks: ReadonlyMap<string, EdgeLook>
}) {
  const byLook = useMemo(() => linesByLook(model, points, looks), [model, points, looks])
  return (
    <svg className="edges" width="1" height="1" aria-hidden>
      <defs>
        {[...EDGE_ORDER, 'sub'].map((look) => (
          <marker key={look} id={`edge-${look}`} className={`mk-${look}`} viewBox="0 0 8 8" refX="6.5" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">
            <path d="M1 1l6 3-6 3z" />
          </marker>
        ))}
      </defs>
      {['sub', ...EDGE_ORDER].map((look) => <Lines key={look} look={look} lines={byLook.get(look) ?? []} />)}
    </svg>
  )
})

function Lines({ look, lines }: { look: string; lines: Line[] }) {
  const plain = lines.filter((line) => !line.hasHead)
  const chunks: Line[][] = []
  for (let at = 0; at < plain.length; at += CHUNK) chunks.push(plain.slice(at, at + CHUNK))
  return (
    <g>
      {chunks.map((chunk, index) => <path key={index} className={`edge edge-${look}`} d={chunk.map((line) => line.d).join('')} />)}
      {lines.filter((line) => line.hasHead).map((line, index) => <path key={index} className={`edge edge-${look}`} d={line.d} markerEnd={`url(#edge-${look})`} />)}
    </g>
  )
}

/** Edges that meet join one trunk. Only its most important edge has an arrowhead. */
export function linesByLook(model: GraphModel, points: ReadonlyMap<string, Point[]>, looks: ReadonlyMap<string, EdgeLook>): Map<string, Line[]> {
  const rank = (look: EdgeLook) => EDGE_ORDER.indexOf(look)
  const lines = new Map<string, Line[]>()
  for (const edges of groupBy(model.edges, (edge) => edge.to).values()) {
    const best = edges.reduce((most, edge) => Math.max(most, rank(looks.get(edge.id) ?? 'open')), 0)
    let hasHead = false
    for (const edge of edges) {
      const look = looks.get(edge.id) ?? 'open'
      const leads = edge.kind === 'subagent' || (!hasHead && rank(look) === best)
      if (leads && edge.kind !== 'subagent') hasHead = true
      const key = edge.kind === 'subagent' ? 'sub' : look
      lines.set(key, [...(lines.get(key) ?? []), { d: roundedPath(points.get(edge.id) ?? [], leads ? HEAD : 0), hasHead: leads }])
    }
  }
  return lines
}
