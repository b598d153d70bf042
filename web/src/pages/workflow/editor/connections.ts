import { isRecord } from '../../../api/client.ts'
import type { DrawingBranch, DrawingEdge } from '../../../api/types.ts'
import type { DesignDrawing, DesignNode } from '../checks.ts'

/**
 * A graph as people connect it: every handle is a branch, and handles without a connection lead nowhere.
 * The drawing of a program shows them as edges to an end that the document does not have.
 */
export function asConnections(drawing: DesignDrawing): DesignDrawing {
  if (drawing.dialect !== 'graph') return drawing
  const isAdded = (node: DesignNode) => node.shape === 'end' && !node.span
  const added = new Set(drawing.nodes.filter(isAdded).map((node) => node.id))
  const exists = (target: string) => drawing.nodes.some((node) => !isAdded(node) && (node.id === target || node.title === target))
  const nodes = drawing.nodes.filter((node) => !isAdded(node)).map((node): DesignNode => {
    const written = conditionBranches(node)
    const declared = written ?? ((node.branches ?? []).length > 0 ? node.branches ?? [] : labelledBranches(drawing.edges.filter((edge) => edge.from === node.id)))
    return { ...node, shape: written ? 'decision' : node.shape, branches: declared.map((branch) => ({ ...branch, targets: branch.targets.filter(exists) })) }
  })
  const names = new Map(nodes.map((node) => [node.id, (node.branches ?? []).map((branch) => branch.name)]))
  const edges = drawing.edges.filter((edge) => !added.has(edge.to)).map((edge): DrawingEdge => {
    const isBranch = !edge.from_branch && edge.label && names.get(edge.from)?.includes(edge.label)
    return isBranch ? { ...edge, from_branch: edge.label } : edge
  })
  return { ...drawing, nodes, edges }
}

/** A decision has a handle for each of its conditions and one for none of them, connected or not. `null` for other nodes. */
function conditionBranches(node: DesignNode): DrawingBranch[] | null {
  const conditions = node.fields?.conditions
  if (!Array.isArray(conditions)) return null
  const known = (name: string) => (node.branches ?? []).find((branch) => branch.name === name)
  const missing = (name: string, condition: string | null): DrawingBranch => ({ name, condition, condition_short: condition, default: condition === null, targets: [], line: null })
  return [...conditions.map((condition: unknown, index) => known(`condition-${index}`) ?? missing(`condition-${index}`, textOf(condition))), known('false') ?? missing('false', null)]
}

/** A condition as its author wrote it, in one line. */
function textOf(condition: unknown): string {
  if (!isRecord(condition)) return JSON.stringify(condition)
  if ('if' in condition) return typeof condition.if === 'string' ? condition.if : JSON.stringify(condition.if)
  return `${String(condition.operator ?? 'equal')} ${JSON.stringify(condition.value ?? '')}`
}

/** The answers of an approval are labels on its edges. */
function labelledBranches(edges: DrawingEdge[]): DrawingBranch[] {
  const labels = [...new Set(edges.filter((edge) => edge.kind !== 'subagent' && edge.kind !== 'loop').map((edge) => edge.label).filter((label): label is string => Boolean(label) && label !== 'tool'))]
  if (labels.length < 2) return []
  return labels.map((name) => ({ name, condition: null, condition_short: null, default: false, targets: edges.filter((edge) => edge.label === name).map((edge) => edge.to), line: null }))
}
