import '@xyflow/react/dist/base.css'
import { type Node, ReactFlow, ReactFlowProvider, ViewportPortal } from '@xyflow/react'
import { useMemo, useRef, useState } from 'react'
import { plural } from '../ui/format.ts'
import { Failed } from '../ui/States.tsx'
import type { CanvasProps } from './Canvas.tsx'
import { CanvasTools } from './CanvasTools.tsx'
import { GraphContext, type GraphContextValue, type Mark, type ProblemCount } from './context.ts'
import { describeNode } from './describe.ts'
import { EdgeLayer } from './EdgeLayer.tsx'
import { ConnectionLine, EditLayer } from './EditLayer.tsx'
import type { Box, Placement } from './elkInput.ts'
import { groupsOf } from './groups.ts'
import { useLayout } from './layout.ts'
import { buildModel, type GraphModel } from './model.ts'
import { Minimap } from './Minimap.tsx'
import { nodeTypes } from './nodeTypes.tsx'
import { edgePoints } from './path.ts'
import { edgeLooks, type NodeState } from './states.ts'
import { useCanvasKeys } from './useCanvasKeys.ts'
import { useEditing } from './useEditing.ts'
import { useDetail, useFollow, useOpeningView } from './useViewport.ts'

const NO_NODES: readonly string[] = []
const NO_FRAMES = new Map()
const NO_PROBLEMS: ReadonlyMap<string, ProblemCount> = new Map()
const NO_MARKS: Readonly<Record<string, Mark>> = {}

export default function FlowCanvas(props: CanvasProps) {
  const { drawing, mode, states = null } = props
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const groups = useStable(useMemo(() => groupsOf(drawing, states, toggled), [drawing, states, toggled]))
  const taken = useStable(useMemo(() => takenBranches(states), [states]))
  const wanted = useMemo(() => buildModel(drawing, { mode, groups, taken: new Map(taken) }), [drawing, mode, groups, taken])
  const { placement, model, error } = useLayout(wanted)
  const onToggle = useRef((id: string) => setToggled((before) => {
    const after = new Set(before)
    if (!after.delete(id)) after.add(id)
    return after
  })).current
  const { frames = NO_FRAMES, problems = NO_PROBLEMS, marks = NO_MARKS, editing = null, onIteration = null } = props
  const context = useMemo<GraphContextValue | null>(
    () => model && { mode, model, states, frames, problems, marks, editing, onIteration, onToggle },
    [mode, model, states, frames, problems, marks, editing, onIteration, onToggle],
  )
  if (error !== null) return <Failed what="the layout of the graph" error={error} />
  if (!context || !placement || !model) return null
  return (
    <GraphContext value={context}>
      <ReactFlowProvider>
        <Flow {...props} model={model} placement={placement} onToggle={onToggle} />
      </ReactFlowProvider>
    </GraphContext>
  )
}

function takenBranches(states: ReadonlyMap<string, NodeState> | null): [string, string][] {
  const taken: [string, string][] = []
  for (const [id, state] of states ?? []) if (state.branch !== null) taken.push([id, state.branch])
  return taken
}

/** The value before, as long as nothing in it has changed: a live run must not lay out its graph again. */
function useStable<T>(value: T): T {
  const kept = useRef(value)
  if (JSON.stringify(kept.current) !== JSON.stringify(value)) kept.current = value
  return kept.current
}

interface FlowProps extends CanvasProps {
  model: GraphModel
  placement: Placement
  onToggle: (id: string) => void
}

function Flow(props: FlowProps) {
  const { model, placement, states = null, selected = NO_NODES, onSelect, onToggle, editing, places } = props
  const shell = useRef<HTMLDivElement>(null)
  const boxes = useMemo(() => boxesOf(model, placement, places ?? null), [model, placement, places])
  const looks = useMemo(() => edgeLooks(model, states), [model, states])
  const nodes = useNodes({ model, boxes, states, selected, draggable: Boolean(editing), problems: props.problems ?? NO_PROBLEMS, marks: props.marks ?? NO_MARKS })
  const points = useMemo(() => new Map(model.edges.map((edge) => [edge.id, edgePoints(edge, model, placement, boxes)])), [model, placement, boxes])
  const { flowProps, drag, live } = useEditing({ model, nodes, points, editing: editing ?? null })
  const shown = useMemo(() => (drag && editing?.mode === 'free' ? movingPoints(model, placement, boxes, live) : points), [drag, editing, model, placement, boxes, live, points])
  const isReady = useOpeningView(shell, placement, boxes, selected[selected.length - 1] ?? null)
  useFollow(props.follow ?? null, boxes)
  const detail = useDetail()
  const open = (id: string, keyboard: boolean) => {
    const node = model.byId.get(id)
    if (node && (node.look === 'folded' || (node.inside.length > 0 && !keyboard))) return onToggle(id)
    onSelect?.(id, { keyboard })
  }
  const onKeyDown = useCanvasKeys({ model, states, boxes, selected, open, onNodeKey: editing?.onNodeKey })
  return (
    <div ref={shell} className="canvas-flow" data-detail={detail} data-ready={isReady} onKeyDown={onKeyDown}>
      <p className="sr">{outline(model)}</p>
      <ReactFlow
        nodes={nodes} edges={[]} nodeTypes={nodeTypes} zIndexMode="manual" onlyRenderVisibleElements
        minZoom={0.1} maxZoom={2} panOnScroll zoomOnScroll={false} zoomOnDoubleClick={false} panOnDrag
        nodesDraggable={false} nodesConnectable={false} elementsSelectable={false} nodesFocusable disableKeyboardA11y deleteKeyCode={null}
        onNodeClick={(event, node) => !(event.target as Element).closest('button') && open(node.id, false)}
        onPaneClick={() => onSelect?.(null, { keyboard: false })}
        onMoveStart={(event) => {
          if (shell.current) shell.current.dataset.moving = 'true'
          if (event !== null) props.onPan?.()
        }}
        onMoveEnd={() => delete shell.current?.dataset.moving}
        connectionLineComponent={ConnectionLine}
        {...flowProps}
      >
        <ViewportPortal><EdgeLayer model={model} points={shown} looks={looks} /></ViewportPortal>
        {editing && <EditLayer model={model} points={points} boxes={boxes} editing={editing} drag={drag} />}
        {props.zoom !== 'none' && <Minimap states={states} count={model.nodes.length} placement={placement} />}
      </ReactFlow>
      <CanvasTools zoom={props.zoom ?? 'top'} tools={props.tools} selected={selected} />
      {props.stale && <span className="canvas-stale">{props.stale}</span>}
      {props.children}
    </div>
  )
}

/** Edges follow the nodes that are being dragged. */
function movingPoints(model: GraphModel, placement: Placement, boxes: ReadonlyMap<string, Box>, live: Node[]) {
  const moved = new Map(boxes)
  for (const node of live) {
    const box = boxes.get(node.id)
    if (box) moved.set(node.id, { ...box, ...node.position })
  }
  return new Map(model.edges.map((edge) => [edge.id, edgePoints(edge, model, placement, moved)]))
}

function outline(model: GraphModel): string {
  const steps = model.nodes.filter((node) => node.look !== 'terminal').length
  return `Graph of ${steps} steps. Also available as an outline: Steps.`
}

function boxesOf(model: GraphModel, placement: Placement, places: CanvasProps['places']): ReadonlyMap<string, Box> {
  const boxes = new Map<string, Box>()
  for (const node of model.nodes) {
    const box = placement.nodes[node.id]
    const place = places?.[node.id]
    if (box) boxes.set(node.id, place ? { ...box, x: place.x, y: place.y } : box)
  }
  return boxes
}

function useNodes({ model, boxes, states, selected, draggable, problems, marks }: {
  model: GraphModel
  boxes: ReadonlyMap<string, Box>
  states: ReadonlyMap<string, NodeState> | null
  selected: readonly string[]
  draggable: boolean
  problems: ReadonlyMap<string, ProblemCount>
  marks: Readonly<Record<string, Mark>>
}): Node[] {
  const placed = useMemo(() => model.nodes.flatMap((node): Node[] => {
    const box = boxes.get(node.id)
    if (!box) return []
    return [{
      id: node.id, type: 'step', position: { x: box.x, y: box.y }, width: box.width, height: box.height, data: {}, draggable,
      zIndex: node.look === 'frame' ? 0 : 2, focusable: node.look !== 'terminal', ariaRole: 'group',
    }]
  }), [model, boxes, draggable])
  const known = useRef(new Map<string, Node>())
  return useMemo(() => {
    const next = placed.map((node): Node => {
      const graphNode = model.byId.get(node.id)
      const ariaLabel = graphNode ? describeNode(graphNode, model, states?.get(node.id), notesOf(node.id, problems, marks)) : node.id
      const isSelected = selected.includes(node.id)
      const before = known.current.get(node.id)
      const isSame = before && before.ariaLabel === ariaLabel && before.selected === isSelected && before.position === node.position && before.draggable === node.draggable
      return isSame ? before : { ...node, ariaLabel, selected: isSelected, domAttributes: { 'aria-current': isSelected || undefined, 'aria-roledescription': 'step' } }
    })
    known.current = new Map(next.map((node) => [node.id, node]))
    return next
  }, [placed, model, states, selected, problems, marks])
}

/** What badges on a node say. */
function notesOf(id: string, problems: ReadonlyMap<string, ProblemCount>, marks: Readonly<Record<string, Mark>>): string[] {
  const problem = problems.get(id)
  return [problem?.errors ? plural(problem.errors, 'error') : null, problem?.warnings ? plural(problem.warnings, 'warning') : null, marks[id] ?? null].filter((note) => note !== null)
}
