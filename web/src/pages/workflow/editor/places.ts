import type { Drawing, DrawingEdge, DrawingNode } from '../../../api/types.ts'
import type { Position } from './operations.ts'

export interface Place {
  id: string
  group: string
  label: string
  position: Position
}

/** Where a run begins: nothing leads there. */
export function isStart(node: DrawingNode): boolean {
  return node.shape === 'start' || node.kind === 'start'
}

/** Where a run ends: nothing follows. */
export function isEnd(node: DrawingNode): boolean {
  return node.shape === 'end' && !isStart(node)
}

/** The places of a tree to which a step can be moved, in the order of the document. */
export function movePlaces(drawing: Drawing, step: string): Place[] {
  const inside = insideOf(drawing, step)
  const places: Place[] = []
  for (const node of drawing.nodes) {
    if (inside.has(node.id) || isStart(node) || isEnd(node)) continue
    places.push({ id: `after-${node.id}`, group: 'After a step', label: `After ${node.title}`, position: { at: 'after', step: node.id } })
  }
  for (const node of drawing.nodes) {
    if (inside.has(node.id)) continue
    for (const branch of branchesOf(node)) {
      places.push({ id: `in-${node.id}-${branch}`, group: 'Into a branch', label: `${node.title} → ${branch}`, position: { at: 'branch', step: node.id, branch } })
    }
  }
  return places
}

/** Branches that hold steps: those of decisions, and the bodies of loops. */
function branchesOf(node: DrawingNode): string[] {
  if (node.shape === 'loop') return ['body']
  return node.shape === 'decision' ? (node.branches ?? []).map((branch) => branch.name) : []
}

/** A step and everything inside of it. */
export function insideOf(drawing: Drawing, step: string): Set<string> {
  const inside = new Set([step])
  let grew = true
  while (grew) {
    grew = false
    for (const node of drawing.nodes) {
      if (node.parent && inside.has(node.parent) && !inside.has(node.id)) {
        inside.add(node.id)
        grew = true
      }
    }
  }
  return inside
}

/** Why two nodes cannot be connected, or `null`. */
export function refusalOf(drawing: Drawing, from: string, branch: string | null, to: string): string | null {
  const target = drawing.nodes.find((node) => node.id === to)
  const source = drawing.nodes.find((node) => node.id === from)
  if (!source || !target) return 'This step does not exist any more'
  if (isStart(target)) return 'Nothing can lead to the start'
  if (isEnd(target) && !target.span) return 'A run ends where nothing follows, without a connection'
  if (isEnd(source)) return 'Nothing can follow an end'
  if (drawing.edges.some((edge) => edge.from === from && edge.to === to && branchOf(edge) === branch)) return 'These are already connected'
  if (isSubagent(branch)) {
    if (from === to) return 'An agent cannot be its own subagent'
    if (drawing.edges.some((edge) => edge.to === to && edge.kind === 'subagent')) return 'A target can have only one subagent edge'
  }
  return null
}

function isSubagent(branch: string | null): boolean {
  return branch === 'subagent'
}

/** The branch or handle from which an edge leaves; approvals have only labels on their edges. */
function branchOf(edge: DrawingEdge): string | null {
  return edge.from_branch ?? edge.label ?? null
}

/** The branches of a node that lead nowhere yet; its only exit is `null`. */
export function freeBranches(drawing: Drawing, id: string): (string | null)[] {
  const node = drawing.nodes.find((entry) => entry.id === id)
  if (!node) return []
  const own = drawing.edges.filter((edge) => edge.from === id)
  // The end that a drawing adds is not a connection of the document.
  const connections = own.filter((edge) => drawing.nodes.some((other) => other.id === edge.to && other.span))
  const named = (node.branches ?? []).map((branch) => branch.name)
  const labels = own.map(branchOf).filter((label): label is string => label !== null && label !== 'subagent')
  const exits: (string | null)[] = named.length > 0 ? named : labels.length > 0 ? [...new Set(labels)] : [null]
  return exits.filter((exit) => !connections.some((edge) => (exit === null ? edge.kind !== 'subagent' : branchOf(edge) === exit)))
}
