import { describe, expect, it } from 'vitest'
import { complete } from '../../src/source/completion.ts'
import { cursorContext } from '../../src/source/cursorContext.ts'
import { ByteOffsets } from '../../src/source/offsets.ts'

/** A document with `|` at the cursor. */
function at(marked: string): [string, number] {
  const position = marked.indexOf('¦')
  return [marked.replace('¦', ''), position]
}

const STEP = {
  type: 'object',
  properties: { step_type: { $ref: '#/$defs/types', description: 'What the step does.' }, id: { type: ['string', 'null'] }, child_steps: { type: 'array', items: { $ref: '#/$defs/step' } } },
  allOf: [
    { required: ['step_type'], properties: { step_type: { not: { type: 'null' } } } },
    { if: { properties: { step_type: { const: 'wait' } }, required: ['step_type'] }, then: { properties: { duration: { type: 'string' }, quiet: { type: 'boolean' } } } },
    { if: { properties: { step_type: { const: 'text' } }, required: ['step_type'] }, then: { properties: { template: { type: 'string' }, retry: { type: 'object', properties: { max_attempts: { type: 'integer' } } } } } },
  ],
}
const SCHEMA = { type: 'object', properties: { name: { type: 'string' }, steps: { type: 'array', items: { $ref: '#/$defs/step' } } }, $defs: { step: STEP, types: { enum: ['text', 'wait'] } } }

function labels(marked: string): string[] {
  const [text, position] = at(marked)
  return (complete(text, position, SCHEMA, true)?.options ?? []).map((option) => option.label)
}

describe('the context of the cursor', () => {
  const check = (marked: string, path: unknown[], key: string | null) => {
    const [text, position] = at(marked)
    const context = cursorContext(text, position)
    expect({ path: context?.path, key: context?.key }).toEqual({ path, key })
  }
  it('finds keys of nested lists in YAML', () => {
    check('steps:\n  - id: a\n    ¦', ['steps', 0], null)
    check('steps:\n  - id: a\n    then:\n      - id: b\n        ste¦', ['steps', 0, 'then', 0], null)
    check('steps:\n- id: a\n- ¦', ['steps', 0], null)
    check('na¦', [], null)
    check('steps:\n  - id: a\n    step_type: t¦', ['steps', 0], 'step_type')
  })
  it('finds keys inside braces', () => {
    check('steps:\n  - {id: a, retry: {max¦}}', ['steps', 0, 'retry'], null)
    check('{"steps": [{"id": "a", "¦"}]}', ['steps', 0], null)
    check('{"steps": [{"id": "a"}, {"step_type": "t¦"}]}', ['steps', 1], 'step_type')
  })
  it('is nothing in comments and in texts of several lines', () => {
    expect(cursorContext('# a b', 4)).toBeNull()
    expect(cursorContext('steps:\n  - id: a\n    template: |\n      hello\n      wo', 50)).toBeNull()
  })
})

describe('completion', () => {
  it('offers the keys of the schema that are not written yet', () => {
    expect(labels('name: x\n¦')).toEqual(['steps'])
  })
  it('follows the type of the step', () => {
    const of = (type: string) => labels(`steps:\n  - id: a\n    step_type: ${type}\n    ¦`)
    expect(of('wait')).toContain('duration')
    expect(of('wait')).not.toContain('template')
    expect(of('text')).toContain('template')
  })
  it('follows the type that is written below the cursor', () => {
    expect(labels('steps:\n  - ¦\n    step_type: wait\n')).toContain('duration')
  })
  it('offers enumerated values and booleans', () => {
    expect(labels('steps:\n  - step_type: ¦')).toEqual(['text', 'wait'])
    expect(labels('steps:\n  - step_type: wait\n    quiet: ¦')).toEqual(['true', 'false'])
    expect(labels('{"steps": [{"step_type": "¦"}]}')).toEqual(['"text"', '"wait"'])
  })
  it('offers nested keys', () => {
    expect(labels('steps:\n  - step_type: text\n    retry: {¦}')).toEqual(['max_attempts'])
    expect(labels('steps:\n  - step_type: text\n    retry:\n      ¦')).toEqual(['max_attempts'])
  })
  it('offers the steps of the document inside placeholders', () => {
    expect(labels('steps:\n  - id: draft\n  - id: mail\n    template: "{{st¦"')).toContain('step.draft.output')
  })
})

describe('byte offsets', () => {
  it('count characters beyond ASCII as the server does', () => {
    const text = 'é: "😀" x'
    const offsets = new ByteOffsets(text)
    const encoder = new TextEncoder()
    for (const unit of [0, 1, 2, 4, 6, 7, 8, text.length]) {
      const byte = encoder.encode(text.slice(0, unit)).length
      expect(offsets.toByte(unit)).toBe(byte)
      expect(offsets.toUnit(byte)).toBe(unit)
    }
  })
  it('never leave the text', () => {
    expect(new ByteOffsets('ab').toUnit(99)).toBe(2)
  })
})
