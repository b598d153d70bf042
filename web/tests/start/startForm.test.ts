import { describe, expect, it } from 'vitest'
import type { InputDeclaration } from '../../src/api/types.ts'
import { initialValues, readForm, readJson } from '../../src/pages/start/startForm.ts'

const declared = (name: string, more: Partial<InputDeclaration> = {}): InputDeclaration => ({ name, type: 'text', required: false, default: null, description: null, enum: null, secret: false, ...more })

describe('the form of a run', () => {
  it('makes objects of names with dots, and values of their types', () => {
    const inputs = [declared('input'), declared('metadata.customer'), declared('metadata.amount', { type: 'number' }), declared('tags', { type: 'list' }), declared('urgent', { type: 'boolean' })]
    const result = readForm(inputs, { input: 'Hello', 'metadata.customer': 'ada@example.com', 'metadata.amount': '49.5', tags: '["a"]', urgent: 'true' })
    expect(result).toEqual({ errors: {}, inputs: { input: 'Hello', metadata: { customer: 'ada@example.com', amount: 49.5 }, tags: ['a'], urgent: true } })
  })
  it('leaves out what is empty, so that defaults apply', () => {
    expect(readForm([declared('a', { default: 'x' }), declared('b')], { a: '', b: '' })).toEqual({ errors: {}, inputs: {} })
  })
  it('says what is wrong with each input', () => {
    const inputs = [declared('n', { type: 'integer' }), declared('o', { type: 'object' }), declared('r', { required: true, type: 'number' })]
    expect(readForm(inputs, { n: '1.5', o: '[1]', r: '' }).errors).toEqual({
      n: 'n must be a whole number.', o: 'o must be a JSON object, such as {"a": 1}.', r: 'r is required.',
    })
  })
  it('keeps the type of enumerated values', () => {
    expect(readForm([declared('level', { enum: [1, 2], type: 'integer' })], { level: '2' }).inputs).toEqual({ level: 2 })
    expect(readForm([declared('level', { enum: [1, 2] })], { level: '7' }).errors.level).toBeDefined()
  })
  it('begins with the defaults', () => {
    expect(initialValues([declared('a', { default: 'x' }), declared('b', { default: ['y'], type: 'list' }), declared('c')])).toEqual({ a: 'x', b: '["y"]', c: '' })
  })
  it('cannot change prototypes', () => {
    readForm([declared('__proto__.polluted')], { '__proto__.polluted': 'yes' })
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('inputs as JSON', () => {
  it('must be an object', () => {
    expect(readJson('{"a": 1}')).toEqual({ inputs: { a: 1 } })
    expect(readJson('')).toEqual({ inputs: {} })
    expect(readJson('[1]')).toHaveProperty('error')
    expect(readJson('{a: 1}')).toHaveProperty('error')
  })
})
