import type { DrawingBranch, DrawingEdge, DrawingNode } from '../api/types.ts'
import { cellWidth } from './measure.ts'
import type { CanvasMode } from './model.ts'

/** One branch in the switchboard of a decision. */
export interface Cell {
  name: string
  /** The whole condition, for the tooltip. */
  condition: string | null
  /** The condition with paths shortened to their last segment. */
  short: string | null
  isDefault: boolean
  width: number
  /** The branches behind the cell "9 more". */
  more: string[]
}

const MOST_CELLS = 5
const FIRST_CELLS = 3
export const MORE = '\u0000more'

/** The cells of a node in the order of its document; none if nothing is chosen here. */
export function cellsOf(node: DrawingNode, edges: DrawingEdge[], mode: CanvasMode, taken: string | null): Cell[] {
  if (node.shape === 'loop') return []
  const branches = branchesOf(node, edges, taken)
  if (branches.length === 0) return []
  const shown = branches.length > MOST_CELLS ? branches.filter((branch, index) => index < FIRST_CELLS || branch.name === taken || branch.default) : branches
  const hidden = branches.filter((branch) => !shown.includes(branch))
  const cells = shown.map((branch): Cell => {
    const short = branch.condition_short ?? branch.condition ?? null
    return { name: branch.name, condition: branch.condition ?? null, short, isDefault: branch.default === true, width: cellWidth(branch.name, short, mode), more: [] }
  })
  if (hidden.length > 0) {
    const at = cells.findIndex((cell) => cell.isDefault)
    const more = { name: MORE, condition: null, short: null, isDefault: false, width: cellWidth(`${hidden.length} more`, null, mode), more: hidden.map((branch) => branch.name) }
    cells.splice(at < 0 ? cells.length : at, 0, more)
  }
  return cells
}

function branchesOf(node: DrawingNode, edges: DrawingEdge[], taken: string | null): DrawingBranch[] {
  const declared = node.branches ?? []
  if (declared.length === 0) return labelledBranches(node, edges)
  const leads = new Set(edges.map((edge) => edge.from_branch))
  // A branch that ends the run ("the run fails") has no node to lead to. It is shown once it is taken.
  const kept = declared.filter((branch) => leads.has(branch.name) || branch.targets.length === 0 || branch.name === taken)
  return kept.length > 1 || node.shape === 'decision' && kept.length === declared.length ? kept : []
}

/** Edges with labels, such as the answers of an approval, are branches that the drawing does not list. */
function labelledBranches(node: DrawingNode, edges: DrawingEdge[]): DrawingBranch[] {
  const labelled = edges.filter((edge) => edge.label && edge.kind !== 'loop' && edge.kind !== 'subagent' && edge.label !== 'tool')
  if (labelled.length < 2) return []
  const byName = new Map<string, DrawingBranch>()
  for (const edge of labelled) {
    const label = edge.label ?? ''
    const isCondition = node.shape === 'start'
    const name = isCondition ? edge.to : label
    const known = byName.get(name)
    if (known) known.targets.push(edge.to)
    else byName.set(name, { name, condition: isCondition && label !== 'default' ? label : null, condition_short: null, default: label === 'default' || label === 'else', targets: [edge.to] })
  }
  return [...byName.values()]
}

/** The cell at which an edge starts; none for edges that leave from the node itself. */
export function cellOfEdge(edge: DrawingEdge, cells: Cell[]): string | null {
  if (cells.length === 0) return null
  const named = (name: string | null | undefined) => (name ? cells.find((cell) => cell.name === name || cell.more.includes(name)) : undefined)
  const byDefault = edge.label === 'else' || edge.label === 'default' ? cells.find((cell) => cell.isDefault) : undefined
  return (named(edge.from_branch) ?? named(edge.label) ?? named(edge.to) ?? byDefault)?.name ?? null
}
