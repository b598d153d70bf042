import type { JsonSchema } from '../../api/types.ts'

export interface FormField {
  name: string
  schema: JsonSchema
  type: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'
  required: boolean
  proposed: unknown
}

/** The fields of a form, in the order of the schema. */
export function formFields(schema: JsonSchema | null | undefined, defaults: Record<string, unknown> | null | undefined): FormField[] {
  const required = schema?.required ?? []
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => ({
    name,
    schema: field,
    type: typeOf(field),
    required: required.includes(name),
    proposed: defaults?.[name] ?? field.default,
  }))
}

function typeOf(schema: JsonSchema): FormField['type'] {
  if (Array.isArray(schema.enum)) return 'choice'
  const type = Array.isArray(schema.type) ? schema.type.find((name) => name !== 'null') : schema.type
  if (type === 'integer' || type === 'number' || type === 'boolean') return type
  if (type === 'object' || type === 'array') return 'json'
  return 'text'
}

/** What the field shows: the typed text, else the proposed value. */
export function shownValue(field: FormField, typed: Record<string, unknown>): string {
  if (field.name in typed) return String(typed[field.name] ?? '')
  if (field.proposed === undefined || field.proposed === null) return ''
  return field.type === 'json' || field.type === 'choice' ? JSON.stringify(field.proposed) : String(field.proposed)
}

/** The values of a form, and what is wrong with them. Fields that were left empty are left out: their defaults apply. */
export function readForm(fields: FormField[], typed: Record<string, unknown>): { values: Record<string, unknown>; errors: Record<string, string> } {
  const values: Record<string, unknown> = {}
  const errors: Record<string, string> = {}
  for (const field of fields) {
    const text = shownValue(field, typed)
    if (text.trim() === '' && field.type !== 'boolean') {
      if (field.required) errors[field.name] = `${field.name} is required.`
      continue
    }
    const value = parse(field, text)
    if (value === undefined) errors[field.name] = `${field.name} must be ${WORDS[field.type]}.`
    else {
      const outside = outsideOf(field, value)
      if (outside) errors[field.name] = outside
      values[field.name] = value
    }
  }
  return { values, errors }
}

const WORDS: Record<FormField['type'], string> = {
  text: 'text', number: 'a number', integer: 'a whole number', boolean: 'true or false', choice: 'one of the listed values', json: 'valid JSON',
}

function parse(field: FormField, text: string): unknown {
  if (field.type === 'text') return text
  if (field.type === 'boolean') return text === 'true'
  if (field.type === 'integer') return /^[+-]?\d+$/.test(text.trim()) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
  if (field.type === 'number') return Number.isFinite(Number(text)) ? Number(text) : undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

// The server checks everything; these are the mistakes that can be reported before anything is sent.
function outsideOf({ name, schema }: FormField, value: unknown): string | null {
  const { minimum, maximum, maxLength, minLength } = schema as Record<string, unknown>
  if (typeof value === 'number' && typeof minimum === 'number' && value < minimum) return `${name} must be at least ${minimum}.`
  if (typeof value === 'number' && typeof maximum === 'number' && value > maximum) return `${name} must be at most ${maximum}.`
  if (typeof value === 'string' && typeof maxLength === 'number' && value.length > maxLength) return `${name} must have at most ${maxLength} characters.`
  if (typeof value === 'string' && typeof minLength === 'number' && value.length < minLength) return `${name} must have at least ${minLength} characters.`
  return null
}
