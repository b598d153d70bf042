import { describe, expect, it } from 'vitest'
import { named, nameProblem, ownName, uniqueName } from '../../src/pages/workflows/names.ts'

describe('names of workflows', () => {
  it('are made unique by a number', () => {
    expect(uniqueName('triage', ['hello'])).toBe('triage')
    expect(uniqueName('triage', ['triage', 'triage-2'])).toBe('triage-3')
  })
  it('have no slashes and are not empty', () => {
    expect(nameProblem('support-triage')).toBeNull()
    for (const name of ['', ' ', 'a/b', 'a\\b', 'a\nb', '..', 'x'.repeat(201)]) expect(nameProblem(name)).not.toBeNull()
  })
  it('replace the name of a template, in its comments, too', () => {
    const text = '# branchpoint run hello.yaml\nname: hello\nsteps: []\n'
    expect(named(text, 'hello', 'greet')).toBe('# branchpoint run greet.yaml\nname: greet\nsteps: []\n')
    expect(named(text, 'hello', 'a: b')).toContain('name: "a: b"')
    expect(named('{"name": "hello"}', 'hello', 'greet')).toBe('{"name": "greet"}')
  })
  it('are found in a document', () => {
    expect(ownName('# x\nname: support-triage # y\nsteps:\n  - name: inner')).toBe('support-triage')
    expect(ownName('name: "a b"\n')).toBe('a b')
    expect(ownName('{\n  "name": "triage",\n  "nodes": []\n}')).toBe('triage')
    expect(ownName('steps: []')).toBeNull()
  })
})
