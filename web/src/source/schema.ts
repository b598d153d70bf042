import { isRecord } from '../api/client.ts'

export type Schema = Record<string, unknown>

const MAX_DEPTH = 24

/** The subschemas that apply to a value, with references followed and `if` decided by the scalars of the mapping (`null`: unknown). */
export function applicable(root: Schema, schema: unknown, siblings: Record<string, string | null> | null, depth = 0): Schema[] {
  if (!isRecord(schema) || depth > MAX_DEPTH) return []
  const found: Schema[] = [schema]
  const add = (part: unknown) => found.push(...applicable(root, part, siblings, depth + 1))
  if (typeof schema.$ref === 'string') add(reference(root, schema.$ref))
  for (const list of [schema.allOf, schema.anyOf, schema.oneOf]) if (Array.isArray(list)) list.forEach(add)
  if (schema.if !== undefined) {
    const holds = test(schema.if, siblings)
    if (holds !== false) add(schema.then)
    if (holds !== true) add(schema.else)
  }
  return found
}

function reference(root: Schema, ref: string): unknown {
  let value: unknown = root
  for (const part of ref.replace(/^#\/?/, '').split('/').filter(Boolean)) value = isRecord(value) ? value[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
  return value
}

/** Whether a mapping with these scalars meets a condition; `null` if that cannot be decided. */
function test(condition: unknown, siblings: Record<string, string | null> | null): boolean | null {
  if (!isRecord(condition) || siblings === null) return null
  if (Array.isArray(condition.required) && condition.required.some((name) => !(String(name) in siblings))) return false
  if (isRecord(condition.properties)) {
    for (const [name, property] of Object.entries(condition.properties)) {
      if (!isRecord(property)) continue
      const value = siblings[name]
      if (value === undefined) continue
      if ('const' in property && value !== String(property.const)) return false
      if (Array.isArray(property.enum) && !property.enum.some((entry) => String(entry) === value)) return false
    }
    return true
  }
  if (Array.isArray(condition.allOf)) {
    const results = condition.allOf.map((part) => test(part, siblings))
    return results.includes(false) ? false : results.includes(null) ? null : true
  }
  return Array.isArray(condition.required) ? true : null
}

/** The schemas of a child of a place. */
function child(schemas: Schema[], segment: string | number): Schema[] {
  const found: Schema[] = []
  for (const schema of schemas) {
    if (typeof segment === 'number') {
      if (isRecord(schema.items)) found.push(schema.items)
    } else if (isRecord(schema.properties) && segment in schema.properties) {
      const property = schema.properties[segment]
      if (isRecord(property)) found.push(property)
    } else if (isRecord(schema.additionalProperties)) {
      found.push(schema.additionalProperties)
    }
  }
  return found
}

/** The schemas at a path. Conditions of outer mappings that cannot be decided count as possible. */
export function schemasAt(root: Schema, path: (string | number)[], siblings: Record<string, string | null>): Schema[] {
  let schemas: Schema[] = [root]
  for (const segment of path) schemas = child(schemas.flatMap((schema) => applicable(root, schema, null)), segment)
  return schemas.flatMap((schema) => applicable(root, schema, siblings))
}

export interface PropertyOption {
  name: string
  schema: Schema
  required: boolean
}

export function propertiesOf(schemas: Schema[]): PropertyOption[] {
  const options = new Map<string, PropertyOption>()
  const required = new Set(schemas.flatMap((schema) => (Array.isArray(schema.required) ? schema.required.map(String) : [])))
  for (const schema of schemas) {
    if (!isRecord(schema.properties)) continue
    for (const [name, property] of Object.entries(schema.properties)) {
      if (!isRecord(property) || Object.keys(property).every((key) => key === 'not')) continue
      const known = options.get(name)
      if (!known || !known.schema.description && property.description) options.set(name, { name, schema: property, required: required.has(name) })
    }
  }
  return [...options.values()]
}

export function valuesOf(root: Schema, schemas: Schema[], key: string): string[] {
  const values = new Set<string>()
  const found = child(schemas, key).flatMap((schema) => applicable(root, schema, null))
  for (const schema of found) {
    if (Array.isArray(schema.enum)) for (const value of schema.enum) if (value !== null) values.add(String(value))
    if ('const' in schema && schema.const !== null) values.add(String(schema.const))
    if (typesOf(schema).includes('boolean')) for (const value of ['true', 'false']) values.add(value)
  }
  return [...values]
}

export function typesOf(schema: Schema): string[] {
  const types = Array.isArray(schema.type) ? schema.type.map(String) : typeof schema.type === 'string' ? [schema.type] : []
  return types.filter((type) => type !== 'null')
}

export function descriptionOf(schemas: Schema[]): string | null {
  for (const schema of schemas) if (typeof schema.description === 'string') return schema.description
  return null
}

/** A short name of what a property holds: `text`, `number`, `list`. */
export function typeLabel(root: Schema, schema: Schema): string {
  const names: Record<string, string> = { string: 'text', array: 'list', integer: 'integer', number: 'number', boolean: 'boolean', object: 'object' }
  const types = new Set(applicable(root, schema, null).flatMap(typesOf).map((type) => names[type] ?? type))
  return [...types].join(' or ')
}
