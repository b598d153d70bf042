import { isRecord } from '../../../api/client.ts'
import type { DrawingBranch, DrawingNode } from '../../../api/types.ts'
import type { FieldPath } from './operations.ts'

/** How a condition is written, which decides its fields in the inspector. */
export type ConditionForm = 'match' | 'expression' | 'group' | 'text'

/** One condition of a decision, in the order in which conditions are evaluated. */
export interface ConditionRow {
  branch: string
  form: ConditionForm
  /** Where the condition is in the step's fields. */
  path: FieldPath
  value: unknown
  /** The item of a list that is removed with its branch; `null` for a condition that the decision needs. */
  item: FieldPath | null
  target: string | null
}

export interface ConditionList {
  rows: ConditionRow[]
  /** The branch if none matches. */
  other: { branch: string; target: string | null } | null
  /** Where a condition can be added, and in which forms. */
  list: { path: FieldPath; forms: ConditionForm[] } | null
  canReorder: boolean
}

/** The conditions of a decision, found by the shape of its fields. `null` if there are none to edit as rows. */
export function conditionsOf(node: DrawingNode, fields: Record<string, unknown>): ConditionList | null {
  const branches = node.branches ?? []
  const target = (name: string) => branches.find((branch) => branch.name === name)?.targets[0] ?? null
  const fallback = branches.find((branch) => branch.default)
  const other = fallback ? { branch: fallback.name, target: target(fallback.name) } : null
  const row = (branch: string, path: FieldPath, value: unknown, item: FieldPath | null): ConditionRow => ({ branch, path, value, item, form: formOf(value), target: target(branch) })

  if (Array.isArray(fields.conditions) && fields.conditions.every((entry) => isRecord(entry) && !('target' in entry))) {
    const rows = fields.conditions.map((value: unknown, index) => row(`condition-${index}`, ['conditions', index], value, ['conditions', index]))
    return { rows, other, list: { path: ['conditions'], forms: ['match', 'expression', 'group'] }, canReorder: true }
  }
  if (Array.isArray(fields.cases)) {
    const rows = fields.cases.map((value: unknown, index) => {
      const name = isRecord(value) && typeof value.name === 'string' ? value.name : `case-${index}`
      const key = isRecord(value) && 'if' in value ? 'if' : 'match'
      return { ...row(name, ['cases', index, key], isRecord(value) ? value[key] : null, ['cases', index]), form: key === 'if' ? formOf(isRecord(value) ? value.if : null) : ('text' as const) }
    })
    return { rows, other, list: null, canReorder: true }
  }
  if ('if' in fields) {
    const rows = [row(branches[0]?.name ?? 'then', ['if'], fields.if, null)]
    const elif = Array.isArray(fields.elif) ? fields.elif : elifOf(branches)
    elif.forEach((entry: unknown, index) => rows.push(row(`elif-${index}`, ['elif', index, 'if'], isRecord(entry) ? entry.if : null, ['elif', index])))
    return { rows, other, list: null, canReorder: elif.length > 0 }
  }
  return null
}

/** Further conditions hold steps, so they are not among the own fields: the drawing has their texts. */
function elifOf(branches: readonly DrawingBranch[]): { if: string | null | undefined }[] {
  return branches.filter((branch) => /^elif-\d+$/.test(branch.name)).map((branch) => ({ if: branch.condition }))
}

function formOf(value: unknown): ConditionForm {
  if (isRecord(value)) {
    if ('if' in value) return isRecord(value.if) ? 'group' : 'expression'
    return 'operator' in value || 'value' in value || Object.keys(value).length === 0 ? 'match' : 'group'
  }
  return Array.isArray(value) ? 'text' : 'expression'
}

/** A new condition of a form. */
export function newCondition(form: ConditionForm): unknown {
  if (form === 'match') return { operator: 'equal', value: '' }
  if (form === 'group') return { if: { combinator: 'and', conditions: [{ variable: '{{input}}', operator: 'equals', value: '' }] } }
  return { if: 'input == ""' }
}

/** What is sent to try a condition: its text and its spelling. */
export function trial(row: ConditionRow): { condition: string; spelling: 'expression' | 'group' | 'text_match' } | null {
  const inner = isRecord(row.value) && 'if' in row.value ? row.value.if : row.value
  if (row.form === 'match') return { condition: JSON.stringify(row.value), spelling: 'text_match' }
  if (row.form === 'group') return { condition: JSON.stringify(inner), spelling: 'group' }
  if (row.form === 'expression') return { condition: typeof inner === 'string' ? inner : JSON.stringify(inner), spelling: 'expression' }
  return null
}

/** Values by path as the context of an evaluation: `step.score.output` makes objects. Texts that are JSON become values. */
export function contextOf(values: Record<string, string>): Record<string, unknown> {
  const context: Record<string, unknown> = {}
  for (const [path, text] of Object.entries(values)) {
    if (text === '' && path !== 'input') continue
    const parts = path.split('.').filter((part) => !['__proto__', 'constructor', 'prototype'].includes(part))
    let target = context
    parts.forEach((part, index) => {
      if (index === parts.length - 1) target[part] = valueOf(text)
      else {
        const inner = isRecord(target[part]) ? target[part] : {}
        target[part] = inner
        target = inner as Record<string, unknown>
      }
    })
  }
  return context
}

function valueOf(text: string): unknown {
  if (!/^(-?\d|[[{"]|true$|false$|null$)/.test(text.trim())) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
