import type { ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api'
import { FRAME_HEAD, cellWidths } from './measure.ts'
import { type GraphModel, type GraphNode, groupBy } from './model.ts'

export interface Point {
  x: number
  y: number
}

export interface Box extends Point {
  width: number
  height: number
}

/** Where everything is drawn, in canvas coordinates. */
export interface Placement {
  nodes: Record<string, Box>
  edges: Record<string, Point[]>
  width: number
  height: number
}

const ROOT_OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  // Steps stand right below the branch that leads to them.
  'elk.layered.layering.strategy': 'LONGEST_PATH_SOURCE',
  'elk.layered.nodePlacement.strategy': 'LINEAR_SEGMENTS',
  'elk.layered.mergeEdges': 'true',
  'elk.layered.spacing.nodeNodeBetweenLayers': '24',
  'elk.layered.spacing.edgeNodeBetweenLayers': '10',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '6',
  'elk.spacing.nodeNode': '16',
  'elk.spacing.edgeNode': '12',
  'elk.spacing.edgeEdge': '8',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.padding': '[top=12,left=6,bottom=16,right=6]',
}

// Trying other orders of nodes takes seconds in large graphs, and the order of the document is rarely improved on.
const LARGE = 300
const LARGE_OPTIONS = { 'elk.layered.crossingMinimization.forceNodeModelOrder': 'true', 'elk.layered.thoroughness': '1' }

const FRAME_OPTIONS = { 'elk.padding': `[top=${FRAME_HEAD},left=14,bottom=14,right=14]` }

const inPort = (id: string) => `${id}\u0000in`
const outPort = (id: string, cell: string | null) => `${id}\u0000out\u0000${cell ?? ''}`

/** The graph as ELK reads it: one port on top of a node, and one for each branch below, in the order of the document. */
export function elkInput(model: GraphModel): ElkNode {
  const byFrame = groupBy(model.nodes, (node) => node.frame ?? '')
  const build = (node: GraphNode): ElkNode => {
    if (node.look === 'frame') {
      return { id: node.id, layoutOptions: FRAME_OPTIONS, children: (byFrame.get(node.id) ?? []).map(build) }
    }
    return { id: node.id, width: node.width, height: node.height, ports: portsOf(node), layoutOptions: { 'elk.portConstraints': 'FIXED_POS' } }
  }
  const isFrame = (id: string) => model.byId.get(id)?.look === 'frame'
  const edges = model.edges.map((edge): ElkExtendedEdge => ({
    id: edge.id,
    sources: [isFrame(edge.from) ? edge.from : outPort(edge.from, edge.cell)],
    targets: [isFrame(edge.to) ? edge.to : inPort(edge.to)],
  }))
  return { id: '\u0000root', layoutOptions: model.nodes.length > LARGE ? { ...ROOT_OPTIONS, ...LARGE_OPTIONS } : ROOT_OPTIONS, children: (byFrame.get('') ?? []).map(build), edges }
}

function portsOf(node: GraphNode): NonNullable<ElkNode['ports']> {
  const port = (id: string, side: 'NORTH' | 'SOUTH', x: number, y: number) => ({ id, x, y, width: 0, height: 0, layoutOptions: { 'elk.port.side': side } })
  const ports = [port(inPort(node.id), 'NORTH', node.width / 2, 0), port(outPort(node.id, null), 'SOUTH', node.width / 2, node.height)]
  let left = 0
  cellWidths(node.cells, node.width).forEach((width, index) => {
    ports.push(port(outPort(node.id, node.cells[index]?.name ?? ''), 'SOUTH', left + width / 2, node.height))
    left += width
  })
  return ports
}

/** Reads ELK's answer. */
export function readPlacement(root: ElkNode): Placement {
  const placement: Placement = { nodes: {}, edges: {}, width: root.width ?? 0, height: root.height ?? 0 }
  const visit = (node: ElkNode) => {
    for (const child of node.children ?? []) {
      placement.nodes[child.id] = { x: Math.round(child.x ?? 0), y: Math.round(child.y ?? 0), width: child.width ?? 0, height: child.height ?? 0 }
      visit(child)
    }
    for (const edge of node.edges ?? []) {
      const section = edge.sections?.[0]
      if (section) placement.edges[edge.id] = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint].map(({ x, y }) => ({ x: Math.round(x), y: Math.round(y) }))
    }
  }
  visit(root)
  return placement
}
