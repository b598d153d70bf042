import type { Part } from '../../api/types.ts'
import type { WhyMarkKind } from '../../ui/icons.tsx'

export interface Hint {
  at: number
  text: string
}

export interface LineMark {
  line: number
  kind: WhyMarkKind
}

export interface FieldMarks {
  /** Values in grey behind the references that read them. */
  hints: Hint[]
  /** The outcome of the condition that ends on a line. */
  lines: LineMark[]
  /** Lines with a part that decided the outcome. */
  decided: number[]
}

export const NO_MARKS: FieldMarks = { hints: [], lines: [], decided: [] }

/** What an evaluation shows in the text of its condition. Places of parts count bytes, editors count UTF-16 units. */
export function marksOf(tree: Part, text: string, reads: ReadonlySet<string>): FieldMarks {
  const position = utf16Positions(text)
  const lineAt = (at: number) => text.slice(0, at).split('\n').length
  const hints = new Map<number, string>()
  const best = new Map<number, { length: number; kind: WhyMarkKind }>()
  const decided = new Set<number>()
  const lineCount = text.split('\n').length
  const visit = (part: Part, isRoot: boolean) => {
    if (part.start !== null && part.start !== undefined && part.end !== null && part.end !== undefined) {
      const [start, end] = [position(part.start), position(part.end)]
      const isWritten = text.slice(start, end) === part.text
      if (isWritten && part.times > 0 && part.value && (reads.has(part.text) || reads.has(part.text.replace(/^\$/, '')))) hints.set(end, shortHint(part.value))
      const [first, last] = [lineAt(start), lineAt(Math.max(start, end - 1))]
      const isOutcome = part.type === 'bool' || part.error
      if (isOutcome && part.times > 0 && first === last && (!isRoot || lineCount === 1)) {
        const length = end - start
        if (length > (best.get(last)?.length ?? -1)) best.set(last, { length, kind: part.error ? 'error' : part.value === 'true' ? 'true' : 'false' })
        if (part.decided && !isRoot) decided.add(last)
      }
    }
    for (const child of part.children) visit(child, false)
  }
  visit(tree, true)
  return {
    hints: [...hints].map(([at, text]) => ({ at, text })).sort((left, right) => left.at - right.at),
    lines: [...best].map(([line, { kind }]) => ({ line, kind })).sort((left, right) => left.line - right.line),
    decided: [...decided].sort((left, right) => left - right),
  }
}

function shortHint(value: string): string {
  if (value.startsWith('[')) {
    try {
      const list: unknown = JSON.parse(value)
      if (Array.isArray(list)) return list.length === 1 ? '1 item' : `${list.length} items`
    } catch {
      return 'list'
    }
  }
  return value.length > 24 ? `${value.slice(0, 23)}…` : value
}

/** Converts byte offsets of a text to UTF-16 offsets. */
export function utf16Positions(text: string): (byte: number) => number {
  // Only ASCII: both are the same.
  if (/^[\x00-\x7f]*$/.test(text)) return (byte) => Math.min(byte, text.length)
  const bytes = new TextEncoder().encode(text)
  const decoder = new TextDecoder()
  return (byte) => decoder.decode(bytes.subarray(0, byte)).length
}
