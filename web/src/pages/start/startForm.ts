import { isRecord } from '../../api/client.ts'
import type { InputDeclaration } from '../../api/types.ts'

/** What was typed into the form, by the name of the input. Booleans are `true` or `false`. */
export type Typed = Record<string, string>

export function initialValues(inputs: InputDeclaration[]): Typed {
  return Object.fromEntries(inputs.map((input) => [input.name, asText(input.default, input)]))
}

/** A value as it is typed: text as it is, everything else as JSON. */
function asText(value: unknown, input: InputDeclaration): string {
  if (value === null || value === undefined) return input.type === 'boolean' && input.required ? 'false' : ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export interface FormResult {
  inputs: Record<string, unknown>
  /** What is wrong, by the name of the input. */
  errors: Record<string, string>
}

/** The inputs of a run. Inputs without a value are left out, so that defaults apply; dots in names make objects. */
export function readForm(declared: InputDeclaration[], typed: Typed): FormResult {
  const inputs: Record<string, unknown> = {}
  const errors: Record<string, string> = {}
  for (const input of declared) {
    const text = typed[input.name] ?? ''
    if (text === '' && !(input.type === 'text' && input.required)) {
      if (input.required && isMissing(input)) errors[input.name] = `${input.name} is required.`
      continue
    }
    const value = parse(input, text)
    if (value === undefined) errors[input.name] = `${input.name} must be ${EXPECTED[input.type ?? ''] ?? 'JSON'}.`
    else setPath(inputs, input.name.split('.'), value)
  }
  return { inputs, errors }
}

/** The possible values of an input; empty if any value of its type is possible. */
export function choicesOf(input: InputDeclaration): unknown[] {
  return Array.isArray(input.enum) ? input.enum : []
}

function isMissing(input: InputDeclaration): boolean {
  return input.default === null || input.default === undefined
}

const EXPECTED: Record<string, string> = { number: 'a number', integer: 'a whole number', boolean: 'true or false', list: 'a JSON list, such as ["a", "b"]', object: 'a JSON object, such as {"a": 1}' }

/** `undefined` if the text is not a value of the type. */
function parse(input: InputDeclaration, text: string): unknown {
  const choices = choicesOf(input)
  if (choices.length > 0) return choices.find((value) => (typeof value === 'string' ? value : JSON.stringify(value)) === text)
  switch (input.type) {
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined
    case 'integer':
      return /^\s*-?\d+\s*$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined
    case 'list':
    case 'object': {
      const value = parseJson(text)
      return (input.type === 'list' ? Array.isArray(value) : isRecord(value)) ? value : undefined
    }
    default:
      return text
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function setPath(target: Record<string, unknown>, path: string[], value: unknown): void {
  const [first, ...rest] = path
  if (first === undefined || ['__proto__', 'constructor', 'prototype'].includes(first)) return
  if (rest.length === 0) {
    target[first] = value
    return
  }
  const inner = isRecord(target[first]) ? target[first] : {}
  target[first] = inner
  setPath(inner as Record<string, unknown>, rest, value)
}

/** The inputs of a JSON field, or why it is not an object. */
export function readJson(text: string): { inputs: Record<string, unknown> } | { error: string } {
  if (text.trim() === '') return { inputs: {} }
  const value = parseJson(text)
  if (value === undefined) return { error: 'The inputs are not valid JSON. Texts need double quotes.' }
  return isRecord(value) ? { inputs: value } : { error: 'The inputs must be a JSON object, such as {"input": "Hello"}.' }
}
