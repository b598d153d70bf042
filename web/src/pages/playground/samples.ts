import type { Spelling } from '../../api/types.ts'

export interface Case {
  name: string
  /** The context, as JSON. */
  text: string
}

/** What the playground evaluates. All of it is in the address, behind the `#`, which never reaches a server. */
export interface PlaygroundState {
  spelling: Spelling
  dialect: string
  condition: string
  cases: Case[]
}

/** The spellings with the dialects that have them. An expression can be written in every dialect. */
export const SPELLINGS: { value: Spelling; label: string; dialects: string[] }[] = [
  { value: 'expression', label: 'Expression', dialects: ['machine', 'steps', 'flow', 'graph', 'session'] },
  { value: 'group', label: 'Typed group', dialects: ['flow', 'machine'] },
  { value: 'targets', label: 'Condition list', dialects: ['steps'] },
  { value: 'history', label: 'History', dialects: ['session'] },
  { value: 'text_match', label: 'Text match', dialects: ['graph', 'machine'] },
]

const json = (value: unknown) => JSON.stringify(value, null, 2).replace(/\[\n\s+([^[\]{}]*?)\n\s+\]/g, (_, items: string) => `[${items.replace(/\n\s+/g, ' ')}]`)

const deploy = (mode: string, exitCode: number, regions: unknown) => json({
  inputs: { count: '12', mode, regions },
  states: { check: { Output: '42 tests, success\n', Stderr: '', ExitCode: 0, Status: 'completed' }, lint: { Output: '3 warnings\n', Stderr: '', ExitCode: exitCode, Status: exitCode === 0 ? 'completed' : 'failed' } },
})

/** An example for each spelling, to begin with. */
export const SAMPLES: Record<Spelling, PlaygroundState> = {
  expression: {
    spelling: 'expression', dialect: 'machine',
    condition: 'inputs.mode == "prod"\n  && any(inputs.regions, # startsWith "eu")\n  && (states.lint.ExitCode == 0 || inputs.mode == "test")',
    cases: [
      { name: 'deploy', text: deploy('prod', 2, ['eu-west', 'us-east']) },
      { name: 'lint fixed', text: deploy('prod', 0, ['eu-west', 'us-east']) },
      { name: 'test mode', text: deploy('test', 2, ['eu-west']) },
      { name: 'region is text', text: deploy('prod', 2, 'eu-west') },
    ],
  },
  group: {
    spelling: 'group', dialect: 'flow',
    condition: json({
      combinator: 'and',
      conditions: [
        { variable: '{{ $order.total }}', operator: 'greater_than', value: 100, type: 'number' },
        {
          combinator: 'or',
          conditions: [
            { variable: '{{ $customer.tier }}', operator: 'equals', value: 'gold', type: 'string' },
            { variable: '{{ $order.tags }}', operator: 'contains', value: 'priority', type: 'array' },
          ],
        },
      ],
    }),
    cases: [
      { name: 'large order', text: json({ order: { total: 149.5, tags: ['gift', 'priority'] }, customer: { tier: 'silver' } }) },
      { name: 'small order', text: json({ order: { total: 20, tags: [] }, customer: { tier: 'gold' } }) },
      { name: 'no customer', text: json({ order: { total: 149.5, tags: [] } }) },
    ],
  },
  targets: {
    spelling: 'targets', dialect: 'steps',
    condition: json({
      match: 'all',
      conditions: [
        { target: 'metadata.category', operator: '$in', value: ['technology', 'science'] },
        { target: 'input_length', operator: '$gte', value: 20, value_type: 'number' },
        { target: 'input', operator: '$not_regex', value: '(?i)\\b(draft|do not publish)\\b' },
      ],
    }),
    cases: [
      { name: 'draft', text: json({ input: 'Draft: a look at the new battery that charges in five minutes.', metadata: { category: 'technology' } }) },
      { name: 'article', text: json({ input: 'A look at the new battery that charges in five minutes.', metadata: { category: 'technology' } }) },
      { name: 'sports', text: json({ input: 'The final ended in a draw after extra time.', metadata: { category: 'sports' } }) },
    ],
  },
  history: {
    spelling: 'history', dialect: 'session',
    condition: json({
      sequence: ['search', ['fetch', 'download']],
      conditions: [{ type: 'sequence_match' }, { type: 'message_contains', value: 'report' }, { type: 'not_recently_used', value: 'publish', window: 3 }],
    }),
    cases: [
      { name: 'report', text: json({ message: 'Now write the Report, please.', tools: ['publish', 'list_files', 'search', 'download'], step: 'research', sequence_index: 2 }) },
      { name: 'published', text: json({ message: 'Another report', tools: ['publish', 'search', 'fetch'], step: 'research', sequence_index: 2 }) },
    ],
  },
  text_match: {
    spelling: 'text_match', dialect: 'graph',
    condition: json({ conditions: [{ operator: 'equal', value: 'approved' }, { operator: 'contains', value: 'Escalate' }] }),
    cases: [
      { name: 'angry customer', text: json({ input: 'The customer is angry: please ESCALATE this ticket.' }) },
      { name: 'approved', text: json({ input: 'Approved' }) },
      { name: 'neither', text: json({ input: 'Thank you for the quick reply.' }) },
    ],
  },
}
