import { STATUS_LABEL } from '../ui/StatusIcon.tsx'
import { formatDuration, joinNames, plural } from '../ui/format.ts'
import { MORE } from './branches.ts'
import type { GraphEdge, GraphModel, GraphNode } from './model.ts'
import { type NodeState, NOT_TAKEN } from './states.ts'

/** What a screen reader says about a node. */
export function describeNode(node: GraphNode, model: GraphModel, state: NodeState | undefined, notes: string[] = []): string {
  return [description(node, model, state), ...notes].join('. ')
}

function description(node: GraphNode, model: GraphModel, state: NodeState | undefined): string {
  const kind = node.node.kind === '' ? '' : `, ${node.node.kind}`
  if (node.look === 'folded') return `${plural(node.inside.length, 'step')} ${NOT_TAKEN}. Enter shows them.`
  if (node.look === 'terminal') return node.node.title
  const name = `${node.node.title}${kind}`
  const targets = node.cells.length > 0 ? targetsOf(node, model) : NO_TARGETS
  if (node.cells.length > 0 && state?.branch != null) return `${name}, ${tookText(node, state, targets)}`
  const status = state ? `, ${statusText(state)}` : ''
  const branches = node.cells.length > 0 ? `. Branches: ${joinNames(node.cells.map((cell) => branchText(cell.name, targets)))}` : ''
  return `${name}${status}${branches}`
}

const NO_TARGETS: ReadonlyMap<string, string[]> = new Map()

function tookText(node: GraphNode, state: NodeState, targets: ReadonlyMap<string, string[]>): string {
  const reason = state.sentence ? ` because ${state.sentence.replace(/^(true|false) because /, '')}` : ''
  const others = node.cells.filter((cell) => cell.name !== state.branch && cell.name !== MORE).map((cell) => branchText(cell.name, targets))
  const rest = others.length > 0 ? ` ${NOT_TAKEN.replace('n', 'N')}: ${others.join(', ')}.` : ''
  return `took ${state.branch}${reason}.${rest}`
}

function branchText(name: string, targets: ReadonlyMap<string, string[]>): string {
  const to = targets.get(name)
  if (name === MORE) return 'more branches'
  return to && to.length > 0 ? `${name} to ${joinNames(to)}` : name
}

function targetsOf(node: GraphNode, model: GraphModel): Map<string, string[]> {
  const targets = new Map<string, string[]>()
  for (const edge of model.edges) {
    if (edge.from !== node.id || edge.cell === null) continue
    const title = model.byId.get(edge.to)?.node.title ?? edge.to
    targets.set(edge.cell, [...(targets.get(edge.cell) ?? []), title])
  }
  return targets
}

function statusText(state: NodeState): string {
  const label = STATUS_LABEL[state.status].toLowerCase()
  const took = state.status === 'completed' && state.took !== null ? ` in ${formatDuration(state.took)}` : ''
  const attempts = state.attempts > 1 ? ` after ${state.attempts} attempts` : ''
  return `${label}${took}${attempts}${state.iteration ? `, iteration ${state.iteration}` : ''}`
}

export type Direction = 'up' | 'down' | 'left' | 'right'

/** The node that an arrow key leads to: down the taken branch, up to where it came from, sideways to its neighbours. */
export function neighbour(model: GraphModel, states: ReadonlyMap<string, NodeState> | null, id: string, direction: Direction): string | null {
  if (direction === 'down') return pick(model.edges.filter((edge) => edge.from === id), states, 'to') ?? firstInside(model, id)
  if (direction === 'up') return pick(model.edges.filter((edge) => edge.to === id), states, 'from') ?? model.byId.get(id)?.frame ?? null
  const parent = pick(model.edges.filter((edge) => edge.to === id), states, 'from')
  const siblings = [...new Set(model.edges.filter((edge) => edge.from === parent).map((edge) => edge.to))]
  const at = siblings.indexOf(id)
  if (at < 0) return null
  return siblings[at + (direction === 'right' ? 1 : -1)] ?? null
}

function pick(edges: GraphEdge[], states: ReadonlyMap<string, NodeState> | null, end: 'from' | 'to'): string | null {
  const isTaken = (edge: GraphEdge) => {
    const from = states?.get(edge.from)
    return from?.branch != null ? edge.cell === from.branch : states?.get(edge[end])?.status !== 'skipped'
  }
  return (edges.find((edge) => states !== null && isTaken(edge)) ?? edges[0])?.[end] ?? null
}

function firstInside(model: GraphModel, id: string): string | null {
  return model.nodes.find((node) => node.frame === id)?.id ?? null
}
