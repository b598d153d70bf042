import { MiniMap, type Node, useStore } from '@xyflow/react'
import { statusLook } from '../ui/StatusIcon.tsx'
import type { Placement } from './elkInput.ts'
import type { NodeState } from './states.ts'

const MANY = 30
const SOME = 12

/** The whole graph in a corner: from 30 nodes, and for smaller graphs that are larger than the canvas. */
export function Minimap({ states, count, placement }: {
  states: ReadonlyMap<string, NodeState> | null
  count: number
  placement: Placement
}) {
  const overflows = useStore((state) => state.width > 0 && (placement.height > state.height * 1.1 || placement.width * 0.6 > state.width))
  if (count < MANY && !(overflows && count >= SOME)) return null
  const colour = (node: Node) => (node.selected ? 'var(--text)' : COLOURS[statusOf(states, node.id)]) ?? 'var(--line-strong)'
  return (
    <MiniMap
      className="minimap" position="top-right" bgColor="var(--surface)" maskColor="transparent" pannable zoomable nodeColor={colour} nodeBorderRadius={6} offsetScale={2}
      style={{ width: 76, height: 104 }} ariaLabel="Overview of the graph"
    />
  )
}

const COLOURS: Record<string, string> = {
  skipped: 'var(--line)', pending: 'var(--line)', people: 'var(--people-fill)', failed: 'var(--failed-fill)', running: 'var(--running)', timer: 'var(--timer)',
}

function statusOf(states: ReadonlyMap<string, NodeState> | null, id: string): string {
  const state = states?.get(id)
  if (!state) return 'plain'
  return state.branch !== null && state.status !== 'failed' ? 'plain' : statusLook(state.status)
}
