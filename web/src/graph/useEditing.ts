import { applyNodeChanges, type Connection, type FinalConnectionState, type Node, type NodeChange, type ReactFlowProps, useReactFlow } from '@xyflow/react'
import { useEffect, useState } from 'react'
import type { CanvasEditing } from './editing.ts'
import type { Point } from './elkInput.ts'
import { type GraphEdge, type GraphModel } from './model.ts'
import { nearestPoint } from './path.ts'

const DROP_DISTANCE = 40

export interface DragState {
  ids: string[]
  /** Where lines may take the dragged step, and the one that would. */
  targets: GraphEdge[]
  over: string | null
}

/** The gestures of the editor, as properties of the canvas: dragging nodes, connecting handles, selecting several. */
export function useEditing({ model, nodes, points, editing }: {
  model: GraphModel
  nodes: Node[]
  points: ReadonlyMap<string, Point[]>
  editing: CanvasEditing | null
}): { flowProps: Partial<ReactFlowProps>; drag: DragState | null; live: Node[] } {
  const flow = useReactFlow()
  const [live, setLive] = useState(nodes)
  const [drag, setDrag] = useState<DragState | null>(null)
  useEffect(() => setLive(nodes), [nodes])
  if (!editing) return { flowProps: {}, drag: null, live: nodes }

  const onNodesChange = (changes: NodeChange[]) => {
    const moves = changes.filter((change) => change.type === 'position')
    if (moves.length > 0) setLive((before) => applyNodeChanges(moves, before))
    const selections = changes.filter((change) => change.type === 'select')
    if (selections.length > 0) {
      const chosen = new Set(live.filter((node) => node.selected).map((node) => node.id))
      for (const change of selections) change.selected ? chosen.add(change.id) : chosen.delete(change.id)
      editing.onSelectMany?.([...chosen])
    }
  }
  const begin = (ids: string[]) => {
    const [id] = ids
    const touches = (edge: GraphEdge) => ids.includes(edge.from) || ids.includes(edge.to)
    const targets = editing.mode === 'tree' && id !== undefined ? model.edges.filter((edge) => !touches(edge) && editing.canMoveTo?.(id, edge)) : []
    setDrag({ ids, targets, over: null })
  }
  const move = (event: MouseEvent | TouchEvent) => {
    if (!drag || drag.targets.length === 0) return
    const at = flow.screenToFlowPosition(clientOf(event))
    const over = nearestEdge(drag.targets, points, at)
    if (over !== drag.over) setDrag({ ...drag, over })
  }
  const end = (dragged: Node[]) => {
    const edge = drag?.targets.find((target) => target.id === drag.over)
    const [first] = dragged
    if (editing.mode === 'free') editing.onMove?.(dragged.map((node) => ({ id: node.id, x: Math.round(node.position.x), y: Math.round(node.position.y) })))
    else {
      setLive(nodes)
      if (edge && first) editing.onMoveTo?.(first.id, edge)
    }
    setDrag(null)
  }
  const refusal = (connection: { source: string; sourceHandle?: string | null; target: string }) =>
    editing.refusal?.(connection.source, connection.sourceHandle || null, connection.target) ?? null
  return {
    drag,
    live,
    flowProps: {
      nodes: live, onNodesChange, nodesDraggable: true, nodesConnectable: editing.mode === 'free', elementsSelectable: true, nodeDragThreshold: 4,
      selectionKeyCode: 'Shift', multiSelectionKeyCode: 'Shift', connectionRadius: 28,
      onNodeDragStart: (_event, node, all) => begin(all.length > 0 ? all.map((other) => other.id) : [node.id]),
      onNodeDrag: (event) => move(event as MouseEvent | TouchEvent),
      onNodeDragStop: (_event, node, all) => end(all.length > 0 ? all : [node]),
      isValidConnection: (connection) => refusal(connection as Connection) === null,
      onConnect: (connection) => editing.onConnect?.(connection.source, connection.sourceHandle || null, connection.target),
      onConnectEnd: (event, state: FinalConnectionState) => {
        if (state.toNode || !state.fromNode) return
        const client = clientOf(event)
        editing.onDropLine?.(state.fromNode.id, state.fromHandle?.id || null, client, flow.screenToFlowPosition(client))
      },
    },
  }
}

function clientOf(event: MouseEvent | TouchEvent): Point {
  const touch = 'changedTouches' in event ? event.changedTouches[0] : event
  return { x: touch?.clientX ?? 0, y: touch?.clientY ?? 0 }
}

function nearestEdge(targets: GraphEdge[], points: ReadonlyMap<string, Point[]>, at: Point): string | null {
  let best: { id: string; distance: number } | null = null
  for (const edge of targets) {
    const distance = nearestPoint(points.get(edge.id) ?? [], at)
    if (distance < DROP_DISTANCE && (best === null || distance < best.distance)) best = { id: edge.id, distance }
  }
  return best?.id ?? null
}
