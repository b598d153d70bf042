import type { Drawing, DrawingNode } from '../../../api/types.ts'
import { isRecord } from '../../../api/client.ts'
import { isJson } from '../../../source/cursorContext.ts'
import { ByteOffsets } from '../../../source/offsets.ts'

/** The selected steps as text of the document's own format, for the clipboard. Steps inside of selected ones come with them. */
export function fragmentOf(text: string, drawing: Drawing, selected: readonly string[]): string | null {
  const chosen = drawing.nodes.filter((node) => selected.includes(node.id) && node.span && !isInsideOf(node, selected, drawing))
  if (chosen.length === 0) return null
  const offsets = new ByteOffsets(text)
  const sliced = chosen
    .sort((left, right) => (left.span?.start ?? 0) - (right.span?.start ?? 0))
    .map((node) => ({ start: offsets.toUnit(node.span?.start ?? 0), end: offsets.toUnit(node.span?.end ?? 0) }))
  return isJson(text) ? jsonFragment(text, selected, sliced) : sliced.map(({ start, end }) => yamlItem(text, start, end)).join('\n') + '\n'
}

function isInsideOf(node: DrawingNode, selected: readonly string[], drawing: Drawing): boolean {
  const byId = new Map(drawing.nodes.map((entry) => [entry.id, entry]))
  for (let parent = node.parent, depth = 0; parent && depth < 64; parent = byId.get(parent)?.parent, depth++) {
    if (selected.includes(parent)) return true
  }
  return false
}

/** An item of a YAML list, moved to the left edge. */
function yamlItem(text: string, start: number, end: number): string {
  const column = start - (text.lastIndexOf('\n', start - 1) + 1)
  const [first = '', ...rest] = text.slice(start, end).trimEnd().split('\n')
  const moved = rest.map((line) => (line.slice(0, column).trim() === '' ? `  ${line.slice(column)}`.trimEnd() : line))
  return [`- ${first}`, ...moved].join('\n')
}

/** Nodes with the connections between them, or a list of steps. */
function jsonFragment(text: string, selected: readonly string[], slices: { start: number; end: number }[]): string {
  const parts = slices.map(({ start, end }) => text.slice(start, end))
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    document = null
  }
  if (!isRecord(document) || !Array.isArray(document.connections)) return `[${parts.join(', ')}]`
  const inner = document.connections.filter((connection) => isRecord(connection) && selected.includes(String(connection.source)) && selected.includes(String(connection.target)))
  return `{"nodes": [${parts.join(', ')}], "connections": ${JSON.stringify(inner)}}`
}
