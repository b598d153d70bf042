import { isRecord } from '../../../api/client.ts'
import { isJson } from '../../../source/cursorContext.ts'
import { ByteOffsets } from '../../../source/offsets.ts'
import type { DesignNode } from '../checks.ts'

/** The fields of a step: from the server, or from the source where it is JSON. `null` if they are not known. */
export function fieldsOf(node: DesignNode, text: string, path: readonly string[]): Record<string, unknown> | null {
  if (node.fields) return node.fields
  if (!node.span || !isJson(text)) return null
  const offsets = new ByteOffsets(text)
  try {
    let value: unknown = JSON.parse(text.slice(offsets.toUnit(node.span.start), offsets.toUnit(node.span.end)))
    for (const key of path) value = isRecord(value) ? value[key] : undefined
    return isRecord(value) ? value : {}
  } catch {
    return null
  }
}
