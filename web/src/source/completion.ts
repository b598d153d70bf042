import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { type CursorContext, cursorContext, isJson } from './cursorContext.ts'
import { descriptionOf, propertiesOf, type Schema, schemasAt, typeLabel, typesOf, valuesOf } from './schema.ts'

/** Completes keys and values from the dialect's schema, and references to steps inside `{{ }}`. */
export function completeDocument(schema: () => Schema | null) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString()
    return complete(text, context.pos, schema(), context.explicit)
  }
}

/** The options at a position. A pure function, so it can be tested without an editor. */
export function complete(text: string, position: number, schema: Schema | null, explicit: boolean): CompletionResult | null {
  const references = completeReference(text, position)
  if (references) return references
  if (!schema) return null
  const context = cursorContext(text, position)
  if (!context) return null
  const schemas = schemasAt(schema, context.path, context.siblings)
  const options = context.key === null ? [...keyOptions(schema, schemas, context, isJson(text)), ...itemOptions(schemas, context)] : valueOptions(schema, schemas, context, isJson(text))
  if (options.length === 0 || !explicit && context.typed === '' && context.key === null) return null
  return { from: context.from, options, validFor: /^["']?[\w$.-]*$/ }
}

function keyOptions(root: Schema, schemas: Schema[], context: CursorContext, json: boolean): Completion[] {
  return propertiesOf(schemas).filter((option) => !(option.name in context.siblings)).map((option) => ({
    label: json ? `"${option.name}"` : option.name,
    apply: json ? `"${option.name}": ` : `${option.name}: `,
    type: 'property',
    detail: option.required ? `${typeLabel(root, option.schema)}, required` : typeLabel(root, option.schema),
    info: descriptionOf([option.schema]) ?? undefined,
    boost: option.required ? 2 : option.name === 'id' ? 1 : 0,
  }))
}

/** Scalars of a list. */
function itemOptions(schemas: Schema[], context: CursorContext): Completion[] {
  if (!context.isItem) return []
  return schemas.flatMap((schema) => (Array.isArray(schema.enum) ? schema.enum : [])).filter((value) => value !== null).map((value) => ({ label: String(value), type: 'enum' }))
}

function valueOptions(root: Schema, schemas: Schema[], context: CursorContext, json: boolean): Completion[] {
  const property = propertiesOf(schemas).find((option) => option.name === context.key)
  const isText = property ? !typesOf(property.schema).includes('boolean') : true
  return valuesOf(root, schemas, context.key ?? '').map((value) => {
    const quoted = json && (isText && value !== 'true' && value !== 'false')
    return { label: quoted ? `"${value}"` : value, type: 'enum' }
  })
}

/** `{{step.` is completed with the ids of the document's steps. */
function completeReference(text: string, position: number): CompletionResult | null {
  const line = text.slice(text.lastIndexOf('\n', position - 1) + 1, position)
  const typed = /\{\{(?:[^{}]*[\s(!])?([\w.-]*)$/.exec(line)?.[1]
  if (typed === undefined) return null
  const options: Completion[] = stepIds(text).map((id) => ({ label: `step.${id}.output`, type: 'variable' }))
  for (const label of ['input', 'agent.input']) options.push({ label, type: 'variable' })
  return { from: position - typed.length, options, validFor: /^[\w.-]*$/ }
}

export function stepIds(text: string): string[] {
  const ids = new Set<string>()
  for (const match of text.matchAll(/(?:^|[\s{,])"?id"?\s*:\s*["']?([\w-]+)/gm)) if (match[1]) ids.add(match[1])
  return [...ids]
}
