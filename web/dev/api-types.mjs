// Writes src/api/schema.d.ts from src/api/openapi.json: `npm run api`. It runs offline and needs no package; generators of others depend
// on the JavaScript API of the compiler, which TypeScript 7 does not have.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const INPUT = new URL('../src/api/openapi.json', import.meta.url)
const OUTPUT = new URL('../src/api/schema.d.ts', import.meta.url)

/** The TypeScript text of an OpenAPI 3.1 document: one type for each schema. */
export function typesOf(document) {
  const schemas = Object.entries(document.components.schemas)
  const parts = ['// @generated from openapi.json by `npm run api`. Do not edit.']
  for (const [name, schema] of schemas) {
    if (isPage(name)) continue
    parts.push(`${comment(schema, '')}export type ${identifier(name)} = ${typeOf(schema, '')}`)
  }
  return `${parts.join('\n\n')}\n`
}

/** Pages of lists repeat the schema of their items; `Page<Item>` in types.ts is generic instead. */
const isPage = (name) => name.startsWith('Page_')

const identifier = (name) => name.replace(/[^A-Za-z0-9_$]/g, '_')

function typeOf(schema, indent) {
  if (schema === true || schema === undefined) return 'unknown'
  if (schema.$ref) return identifier(schema.$ref.split('/').at(-1))
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.allOf) return schema.allOf.map((part) => grouped(typeOf(part, indent))).join(' & ')
  const union = schema.oneOf ?? schema.anyOf
  if (union) return [...new Set(union.map((part) => typeOf(part, indent)))].join(' | ')
  if (Array.isArray(schema.type)) return [...new Set(schema.type.map((type) => typeOf({ ...schema, type }, indent)))].join(' | ')
  if (schema.type === 'array') return `${grouped(typeOf(schema.items, indent))}[]`
  if (schema.type === 'object' || schema.properties) return objectOf(schema, indent)
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (['string', 'boolean', 'null'].includes(schema.type)) return schema.type
  return 'unknown'
}

function objectOf(schema, indent) {
  if (!schema.properties) return `Record<string, ${typeOf(schema.additionalProperties, indent)}>`
  const required = new Set(schema.required ?? [])
  const inner = `${indent}  `
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    return `${comment(field, inner)}${inner}${key}${required.has(name) ? '' : '?'}: ${typeOf(field, inner)}`
  })
  return `{\n${fields.join('\n')}\n${indent}}`
}

const grouped = (type) => (/[|&]/.test(type) && !type.startsWith('{') ? `(${type})` : type)

function comment(schema, indent) {
  const first = schema.description?.split('\n\n')[0].replaceAll('*/', '* /').replace(/\s*\n\s*/g, ' ')
  return first ? `${indent}/** ${first} */\n` : ''
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(OUTPUT, typesOf(JSON.parse(readFileSync(INPUT, 'utf8'))))
}
