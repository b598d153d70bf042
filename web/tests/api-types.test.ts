import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { typesOf } from '../dev/api-types.mjs'

const read = (path: string) => readFileSync(new URL(`../src/api/${path}`, import.meta.url), 'utf8')

describe('the types of the API', () => {
  it('are generated from the stored document', () => {
    expect(read('schema.d.ts') === typesOf(JSON.parse(read('openapi.json'))), 'schema.d.ts is not current: npm run api').toBe(true)
  })

  it('keep optional fields, unions, lists and references apart', () => {
    const schemas = {
      Run: {
        type: 'object', required: ['id', 'tags', 'status'],
        properties: {
          id: { type: 'string', description: 'Its id.' }, tags: { type: 'array', items: { type: 'string' } }, ended: { type: ['string', 'null'] },
          status: { $ref: '#/components/schemas/Status' }, children: { type: 'array', items: { oneOf: [{ $ref: '#/components/schemas/Run' }, { type: 'null' }] } },
          counts: { type: 'object', additionalProperties: { type: 'integer' } }, 'any thing': {},
        },
      },
      Status: { type: 'string', enum: ['running', 'failed'] },
      Page_Run: { type: 'object' },
    }
    expect(typesOf({ components: { schemas } })).toBe(`// @generated from openapi.json by \`npm run api\`. Do not edit.

export type Run = {
  /** Its id. */
  id: string
  tags: string[]
  ended?: string | null
  status: Status
  children?: (Run | null)[]
  counts?: Record<string, number>
  "any thing"?: unknown
}

export type Status = "running" | "failed"
`)
  })
})
