import type { EditResult } from '../../../api/types.ts'
import { postWithFields } from '../withFields.ts'

/** Where steps are added, moved or pasted. */
export type Position =
  | { at: 'start' }
  | { at: 'end' }
  | { at: 'before' | 'after'; step: string }
  | { at: 'below'; step: string; branch?: string }
  | { at: 'edge'; from: string; branch?: string; to: string }
  | { at: 'branch'; step: string; branch: string; index?: number }
  | { at: 'free'; x: number; y: number }

export type FieldPath = (string | number)[]

/** An edit of the document. The server turns it into edits of the source, so comments and order stay. */
export type Operation =
  | { op: 'add'; step_type: string; position: Position; id?: string; fields?: Record<string, unknown> }
  | { op: 'remove'; steps: string[]; with_children?: boolean }
  | { op: 'move'; step: string; position: Position }
  | { op: 'connect' | 'disconnect'; source: string; handle?: string; target: string }
  | { op: 'rename'; step: string; id: string }
  | { op: 'set_field'; step: string; path: FieldPath; value: unknown }
  | { op: 'remove_field'; step: string; path: FieldPath }
  | { op: 'reorder'; step: string; from: number; to: number }
  | { op: 'paste'; fragment: string; position: Position }
  | { op: 'set_positions'; positions: Record<string, { x: number; y: number }> }

/** A reference that an edit changed, or that names a step that it removed. */
export type Affected = EditResult['affected'][number]

export function requestEdit(text: string, name: string, dialect: string, operation: Operation): Promise<EditResult> {
  return postWithFields<EditResult>('/edit', { text, name, dialect, operation })
}

/** What an operation did, as undo shows it: "delete score". */
export function nameOf(operation: Operation): string {
  switch (operation.op) {
    case 'add':
      return `add ${operation.step_type}`
    case 'remove':
      return `delete ${operation.steps.length > 3 ? `${operation.steps.length} steps` : operation.steps.join(', ')}`
    case 'move':
      return `move ${operation.step}`
    case 'connect':
      return `connect ${operation.source} to ${operation.target}`
    case 'disconnect':
      return `disconnect ${operation.source} from ${operation.target}`
    case 'rename':
      return `rename ${operation.step} to ${operation.id}`
    case 'set_field':
    case 'remove_field':
      return `change ${operation.step}`
    case 'reorder':
      return `reorder ${operation.step}`
    case 'paste':
      return 'paste'
    case 'set_positions':
      return Object.keys(operation.positions).length === 1 ? `move ${Object.keys(operation.positions)[0]}` : 'lay out'
  }
}

/** "`tier` and `mail` read `step.score`": who reads what would be removed, in words. */
export function readersOf(affected: Affected[], removed: readonly string[]): { step: string; field: string; names: string; line: number }[] {
  // Connections of a removed step are removed with it.
  const isConnection = (entry: Affected) => /^connections\[/.test(entry.field)
  return affected.filter((entry) => !isConnection(entry) && (!entry.step || !removed.includes(entry.step))).map((entry) => ({ ...entry, step: entry.step ?? 'the document' }))
}
