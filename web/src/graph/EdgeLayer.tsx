import { memo, useMemo } from 'react'
import type { Point } from './elkInput.ts'
import { type GraphModel, groupBy } from './model.ts'
import { headPath, roundedPath } from './path.ts'
import { EDGE_ORDER, type EdgeLook } from './states.ts'

const HEAD = 2
/** Lines in one path element: a thousand edges are a few dozen elements, and those out of view are not painted. */
const CHUNK = 40

interface Lines {
  lines: string[]
  heads: string[]
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
      {['sub', ...EDGE_ORDER].map((look) => (
        <g key={look}>
          {chunksOf(byLook.get(look)?.lines).map((d, index) => <path key={index} className={`edge edge-${look}`} d={d} />)}
          {chunksOf(byLook.get(look)?.heads).map((d, index) => <path key={index} className={`head mk-${look}`} d={d} />)}
        </g>
      ))}
    </svg>
  )
})

function chunksOf(parts: string[] = []): string[] {
  const chunks: string[] = []
  for (let at = 0; at < parts.length; at += CHUNK) chunks.push(parts.slice(at, at + CHUNK).join(''))
  return chunks
}

/** Edges that meet join one trunk. Only its most important edge has an arrowhead. */
export function linesByLook(model: GraphModel, points: ReadonlyMap<string, Point[]>, looks: ReadonlyMap<string, EdgeLook>): Map<string, Lines> {
  const rank = (look: EdgeLook) => EDGE_ORDER.indexOf(look)
  const byLook = new Map<string, Lines>()
  for (const edges of groupBy(model.edges, (edge) => edge.to).values()) {
    const best = edges.reduce((most, edge) => Math.max(most, rank(looks.get(edge.id) ?? 'open')), 0)
    let hasHead = false
    for (const edge of edges) {
      const look = looks.get(edge.id) ?? 'open'
      const leads = edge.kind === 'subagent' || (!hasHead && rank(look) === best)
      if (leads && edge.kind !== 'subagent') hasHead = true
      const key = edge.kind === 'subagent' ? 'sub' : look
      const known = byLook.get(key) ?? { lines: [], heads: [] }
      byLook.set(key, known)
      const line = points.get(edge.id) ?? []
      known.lines.push(roundedPath(line, leads ? HEAD : 0))
      if (leads) known.heads.push(headPath(line, HEAD))
    }
  }
  return byLook
}
