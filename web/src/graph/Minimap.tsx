import { MiniMap, type Node, useStore } from '@xyflow/react'
import { statusLook } from '../ui/StatusIcon.tsx'
import type { Placement } from './elkInput.ts'
import type { NodeState } from './states.ts'

const MANY = 30
const SOME = 12

/** The whole graph in a corner: from 30 nodes, and for smaller graphs that are larger than the canvas. */
export function Minimap({ states, count, placement }: { states: ReadonlyMap<string, NodeState> | null; count: number; placement: Placement }) {
  const overflows = useStore((state) => state.width > 0 && (placement.height > state.height * 1.1 || placement.width * 0.6 > state.width))
  if (count < MANY && !(overflows && count >= SOME)) return null
  const look = (node: Node) => `mm mm-${statusOf(states, node.id)}`
  return (
    <MiniMap
      className="minimap" position="top-right" pannable zoomable nodeClassName={look} nodeBorderRadius={6} offsetScale={2}
      style={{ width: 76, height: 104 }} ariaLabel="Overview of the graph"
    />
  )
}

function statusOf(states: ReadonlyMap<string, NodeState> | null, id: string): string {
  const state = states?.get(id)
  if (!state) return 'plain'
  return state.branch !== null && state.status !== 'failed' ? 'decided' : statusLook(state.status)
}
