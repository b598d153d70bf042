import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Plugin } from 'vite'

// A small server for development and component tests: it answers the API from recorded fixtures. It has no semantics of its own.

type Json = any

const START = Date.parse('2026-11-15T21:17:06Z')
const started = Date.now()
const now = () => new Date(START + Date.now() - started)
const ago = (ms: number) => new Date(START - ms).toISOString()
const fixture = (name: string): Json => JSON.parse(readFileSync(new URL(`./fixtures/${name}.json`, import.meta.url), 'utf8'))

const recorded: Record<string, Json> = { 'triage-204': fixture('triage-204'), 'topics-63': fixture('topics-63') }
const approvals: Json[] = fixture('approvals')

function agoOf(text: string): number {
  const [, n, unit] = /(\d+) (s|min|h)/.exec(text) ?? []
  return Number(n ?? 0) * ({ s: 1000, min: 60_000, h: 3_600_000 }[unit ?? 's'] ?? 1000)
}

function durationOf(text: string): number {
  const [, n, unit] = /([\d.]+) (ms|s)/.exec(text) ?? []
  return text.startsWith('<') ? 0 : Number(n ?? 0) * (unit === 's' ? 1000 : 1)
}

const runs: Json[] = fixture('runs').map((row: Json) => {
  const [step, branch] = row.decision
  const error = row.bad ? { kind: row.reason.split(':')[0], message: row.reason.split(': ').slice(1).join(': ') || row.reason, step } : null
  const decided = branch ? { step, branch, sentence: row.reason } : null
  return {
    id: row.id, workflow: row.workflow, version: row.version, dialect: 'steps', status: row.status, started: ago(agoOf(row.ago)), updated: ago(agoOf(row.ago)),
    active_ms: durationOf(row.active), waited_ms: 0,
    usage: { tokens: Number(row.tokens.replace(/,/g, '')) || 0, cost_micros: Math.round(Number(row.cost.replace('$', '')) * 1e6) || 0 },
    last_decision: decided, current: decided ? [] : [step],
    waiting_for: row.status === 'waiting_people' ? { approval: step, people: row.id === 'contract-17' ? null : ['ada'] } : row.status === 'waiting_timer' ? { until: '2026-11-16T00:22:00Z' } : null,
    error, tags: [], script: 'script', driven: true, started_by: 'ada', ...(recorded[row.id]?.run ?? {}),
  }
})

const workflows: Json[] = fixture('workflows').map((row: Json, index: number) => ({
  name: row.name, description: row.description, dialect: row.dialect, version: row.version, hash: `805b94f${index}`, saved_at: ago((index + 2) * 60_000 * (index + 1)),
  origin: 'web', structure: row.structure, waiting: row.waiting, runs_total: row.ticks.length + 25, editable: ['steps', 'graph'].includes(row.dialect),
  last_run_at: ago(agoOf(row.last) || 4000),
  last_runs: row.ticks.map((status: string, tick: number) => ({ id: `${row.name}-${tick}`, status, started: ago(tick * 60_000), duration_ms: 1000 })),
}))

function detail(name: string): Json {
  const summary = workflows.find((workflow) => workflow.name === name)
  if (!summary) return null
  const own = Object.values(recorded).find((run) => run.run.workflow === name)
  const hours = [2 / 60, 24, 72]
  return {
    ...summary, text: own?.source.text ?? `name: ${name}\nsteps:\n  - {id: a, step_type: text, template: hello}\n`, callees: [], input_schema: null,
    versions: Array.from({ length: summary.version }, (_, i) => ({
      version: summary.version - i, hash: ['805b94f', '4c19e02', 'd07a5b1', 'aa01b2c'][i], saved_at: ago((hours[i] ?? 100) * 3_600_000), saved_by: i < 2 ? 'ada' : 'bob',
      message: ['Two approvals for uncertain replies', 'Look up every charge', 'Initial version'][i] ?? 'Change', runs: [1, 36, 4, 1][i], active_runs: i === 0 ? 1 : 0,
    })),
    inputs: [
      { name: 'input', type: 'text', required: true, default: 'I was charged twice, please help.', description: 'The message of the customer' },
      { name: 'metadata.customer', type: 'text', required: false, default: 'ada@example.com' }, { name: 'metadata.amount', type: 'number', required: false, default: 49 },
    ],
  }
}

function trace(run: Json, parameters: URLSearchParams): Json {
  const parent = parameters.get('parent')
  const [deep, q, exact, state, after] = ['deep', 'q', 'step', 'state', 'after'].map((name) => parameters.get(name))
  const begin = after ? run.steps.findIndex((step: Json) => step.key === after) + 1 : 0
  const matches = (step: Json) =>
    (deep ? true : (step.parent ?? null) === parent) && (!q || step.step.includes(q)) && (!exact || step.step === exact) && (!state || state.split(',').includes(step.status))
    && (!parameters.get('decisions') || step.decisions.length > 0)
  const items = run.steps.slice(begin).filter(matches).slice(0, Number(parameters.get('limit') ?? 200)).map((step: Json) => ({
    ...step, input: undefined, output: undefined,
    decisions: step.decisions.map((decision: Json) => ({ ...decision, branches: decision.branches.map((branch: Json) => ({ ...branch, tree: null })) })),
  }))
  const counts: Record<string, number> = {}
  for (const step of items) counts[step.status] = (counts[step.status] ?? 0) + 1
  return { items, next: null, counts, omitted: null, total: items.length }
}

function session(): Json {
  const lines = fixture('session')
  const last = lines[lines.length - 1]
  const said = ['Okay, let’s plan the project structure.', 'research caching strategies', 'web_search', 'plan again', 'summarize', 'summarize']
  const kinds = ['message', 'message', 'tool', 'message', 'tool', 'tool']
  const at = ['21:31:02', '21:31:40', '21:31:44', '21:32:10', '21:32:13', '21:32:15']
  const tools: Record<string, string[]> = { research: ['web_search', 'summarize'], planning_mode: ['think', 'list_generation'] }
  return {
    document: 'research-then-plan', id: 'main', view: { ...last, why: 'Still in research: its conditions no longer match, but no other step matches' },
    tools: ['web_search', 'think', 'list_generation', 'summarize'].map((name) => ({
      name, offered: last.allowedTools.includes(name), reason: last.allowedTools.includes(name) ? 'allowed by research' : 'not listed in research; listed in planning_mode',
    })),
    steps: [...last.reasons.map((r: Json) => ({ ...r, active: r.step === last.activeStep, tools: tools[r.step] })), { step: 'general', holds: null, explanation: null, active: false, tools: [] }],
    events: said.map((value, i) => ({ n: i + 1, at: `2026-11-15T${at[i]}Z`, kind: kinds[i], value, step_before: lines[i - 1]?.activeStep ?? null, step_after: lines[i].activeStep })),
  }
}

class MockProblem extends Error {
  constructor(readonly status: number, readonly kind: string, readonly title: string, readonly detail: string) {
    super(detail)
  }
}

const SETTINGS: Record<string, Json> = {
  people: { owner: 'ada', admins: ['bob'], members: ['eve', 'cid'], groups: [{ name: 'finance', members: ['bob', 'cid'] }, { name: 'legal', members: ['eve'] }] },
  tokens: [
    { id: 'c41f', kind: 'token', user: 'ci', role: 'operator', workflows: ['support-*'], created: ago(86_400_000 * 3), expires: ago(-86_400_000 * 87) },
    { id: 'a02b', kind: 'browser', user: 'bob', role: 'approver', workflows: ['*'], created: ago(3_600_000), expires: ago(-3_600_000 * 11) },
  ],
  secrets: { items: [{ name: 'DEPLOY_TOKEN', workflows: ['deploy-*'], set_by: 'ada', set: ago(86_400_000 * 2) }], next: null },
  providers: { items: [{ name: 'anthropic', endpoint: 'api.anthropic.com', models: ['claude-sonnet-4-5'], key: 'set', used_by: 4 }, { name: 'openai', endpoint: 'api.openai.com', models: [], key: 'missing', used_by: 0 }], next: null },
  webhooks: [{
    name: 'team', host: 'https://hooks.example.com', events: ['run.failed', 'approval.requested'], workflow: '*', format: 'slack', signed: true,
    deliveries: [
      { id: 'd1', event: 'run.failed', run: 'fb-3', created: ago(180_000), status: 'failed', attempts: 9, last_attempt: ago(60_000), next_attempt: null, response: '500 Internal Server Error' },
      { id: 'd2', event: 'approval.requested', run: 'triage-204', created: ago(120_000), status: 'delivered', attempts: 1, last_attempt: ago(120_000), next_attempt: null, response: '200 OK' },
    ],
  }],
  audit: [{ at: ago(60_000), user: 'ada', credential: null, method: 'POST', path: '/api/v1/runs', status: 202 }, { at: ago(120_000), user: 'bob', credential: 'a02b', method: 'POST', path: '/api/v1/approvals/triage-204/18/vote', status: 200 }, { at: ago(240_000), user: null, credential: null, method: 'POST', path: '/api/v1/workflows', status: 401 }],
  doctor: { items: [{ name: 'store', ok: true, message: 'The store is intact: version 17, 331776 bytes.' }, { name: 'disk', ok: true, message: '29647 MB are free on the disk.' }, { name: 'timers', ok: false, message: '2 timers are overdue.' }] },
}

const settings = (section: string): Json => SETTINGS[section] ?? null

const hour = (n: number) => new Date(START - n * 3_600_000).toISOString()
const BARS = [2, 1, 3, 2, 0, 1, 4, 6, 9, 12, 10, 14, 11, 9, 13, 12, 15, 10, 8, 6, 9, 7, 5, 24]
const FAILS: Record<number, number> = { 9: 1, 12: 2, 16: 1, 23: 1 }

function answer(method: string, path: string, parameters: URLSearchParams, body: Json): Json {
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent)
  const [head, id, sub, key] = parts
  if (head === 'me') return { user: 'ada', roles: ['admin'], groups: ['support'], can: { read: true, try: true, edit: true, operate: true, approve: true, administer: true }, local: true, server: { version: '0.9.0', build: 'dev', now: now().toISOString(), host: 'sqlite' } }
  if (head === 'overview') return { counts: { running: 1, waiting_people: 5, waiting_timer: 1, failed_today: 5, completed_today: 188 }, hours: BARS.map((n, i) => ({ hour: hour(23 - i), completed: n, failed: FAILS[i] ?? 0 })), approvals: { mine: 6 } }
  if (head === 'workflows') {
    if (!id) return { items: workflows.filter((w) => (!parameters.get('dialect') || w.dialect === parameters.get('dialect')) && w.name.includes(parameters.get('q') ?? '')), next: null }
    const run = Object.values(recorded).find((record) => record.run.workflow === id)
    if (sub === 'drawing') return run?.drawing ?? { dialect: 'steps', nodes: [], edges: [], editable: false, hash: 'x' }
    if (sub === 'diff') return { changes: [{ group: 'decisions', kind: 'changed', step: 'tier', before: 'step.score.output.score < 0.85', after: 'step.score.output.score < 0.85 || metadata.amount > 100', sentence: 'tier, elif-0 condition changed' }, { group: 'approvals', kind: 'changed', step: 'ask', sentence: 'ask needs 2 matching votes (was 1)' }, { group: 'steps', kind: 'added', step: 'each_charge', sentence: 'each_charge added after charges: for_each with receipt and explain' }, { group: 'steps', kind: 'removed', step: 'summary', sentence: 'summary removed: prompt_call after charges' }], drawing: run?.drawing ?? null, marks: { tier: 'changed', ask: 'changed', each_charge: 'added', receipt: 'added', explain: 'added' } }
    return detail(id)
  }
  if (head === 'runs') {
    if (!id) {
      const status = parameters.get('status')?.split(',')
      return { items: runs.filter((r) => (!status || status.includes(r.status)) && (!parameters.get('workflow') || r.workflow === parameters.get('workflow')) && (r.id + r.workflow).includes(parameters.get('q') ?? '')), next: null }
    }
    const run = recorded[id]
    if (!run) return runs.find((r) => r.id === id) ? (sub === 'trace' ? { items: [], next: null } : sub ? null : { ...runs.find((r) => r.id === id), input: null, result: null }) : null
    if (sub === 'drawing') return run.drawing
    if (sub === 'source') return run.source
    if (sub === 'trace') return key ? run.steps.find((step: Json) => step.key === key) ?? null : trace(run, parameters)
    return run.run
  }
  if (head === 'approvals') {
    if (!id) {
      const show = parameters.get('show') ?? 'mine'
      return { items: approvals.filter((a) => (show === 'answered' ? a.status !== 'open' : a.status === 'open' && (show === 'all' || !a.votes.some((v: Json) => v.user === 'ada')))), next: null }
    }
    const approval = approvals.find((a) => a.key === `${id}/${sub}`)
    if (key === 'outcomes') return { items: id === 'triage-204' ? [['approve', 'mail_approved'], ['deny', 'held'], ['timeout', 'held']].map(([choice, step]) => ({ choice, is_timeout: choice === 'timeout', leads_to: [step], at: choice === 'timeout' ? approval.deadline : null, decisions: [{ step: 'decide', branch: choice, sentence: 'true' }], ends: null })) : [] }
    if (approval && method === 'POST' && key === 'vote') {
      approval.votes.push({ user: 'ada', choice: body.choice, comment: body.comment ?? null, at: now().toISOString() })
      const same = approval.votes.filter((v: Json) => v.choice === body.choice).length
      if (same >= (approval.required ?? 1)) Object.assign(approval, { status: 'settled', outcome: body.choice, settled: now().toISOString(), settled_by: 'quorum' })
      approval.may_vote = false
      approval.waits_for = approval.waits_for?.filter((user: string) => user !== 'ada')
    }
    return approval ?? null
  }
  if (head === 'links') {
    if (id === 'used') throw new MockProblem(409, 'link_used', 'The link has been used', 'The link was used for the vote `approve` at 21:16.')
    return { user: 'ada', expires: ago(-86_400_000), used: false, approval: approvals.find((approval) => approval.run === 'triage-204') }
  }
  if (head === 'sessions') return { items: [{ document: 'research-then-plan', id: 'main', step: 'research', tools_offered: 2, tools_total: 4, updated: ago(0) }, { document: 'agent-template', id: 'main', step: 'reflect', tools_offered: 2, tools_total: 4, updated: ago(120_000) }, { document: 'guard', id: 's-17', step: 'order', tools_offered: 1, tools_total: 4, updated: ago(360_000) }, { document: 'personas', id: 's-16', step: 'planner', tools_offered: 2, tools_total: 5, updated: ago(660_000) }], next: null }
  if (head === 'agents') return session()
  if (head === 'check') return { dialect: 'steps', diagnostics: /max_atempts|scores/.test(body?.text ?? '') ? fixture('problems') : [], ok: true, structure: null, inputs: [] }
  if (head === 'drawing') return recorded['triage-204'].drawing
  if (head === 'format') return { text: body?.text ?? '' }
  if (head === 'eval') return { diagnostics: [], cases: (body?.cases ?? [0]).map(() => fixture('eval')), reads: ['inputs.mode', 'inputs.regions', 'states.lint.ExitCode'] }
  if (head === 'templates') return [{ name: 'approval', title: 'support', dialect: 'steps', description: 'Drafts a reply to a customer. Weak drafts are dropped; uncertain ones need approval.', text: recorded['triage-204'].source.text }]
  if (head === 'settings') return settings(id ?? '')
  if (head === 'sign-in') return method === 'GET' ? { required: true, token: true, oidc: { name: 'Example Org' } } : {}
  if (head === 'docs') return { kind: id, title: id, markdown: `# ${id}\n\nThe page of \`${id}\`.` }
  return method === 'GET' ? null : {}
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    return null
  }
}

function stream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  response.write(`event: hello\ndata: ${JSON.stringify({ client: 'c1', now: now().toISOString(), build: 'dev' })}\n\n`)
  const ping = setInterval(() => response.write(': ping\n\n'), 15_000)
  response.on('close', () => clearInterval(ping))
}

export function mockApi(): Plugin {
  return {
    name: 'mock-api',
    configureServer(server) {
      server.middlewares.use(async (request, response, next) => {
        const url = new URL(request.url ?? '/', 'http://localhost')
        if (!url.pathname.startsWith('/api/v1/')) return next()
        const path = url.pathname.slice('/api/v1'.length)
        if (path === '/events') return stream(response)
        const problem = new MockProblem(404, 'not_found', 'Not found', `Nothing is stored at ${path}.`)
        let result: Json
        try {
          result = answer(request.method ?? 'GET', path, url.searchParams, await bodyOf(request)) ?? problem
        } catch (error) {
          result = error
        }
        const { status, kind, title, detail } = result as MockProblem
        const failed = result instanceof MockProblem
        response.setHeader('date', now().toUTCString())
        response.writeHead(failed ? status : 200, { 'content-type': failed ? 'application/problem+json' : 'application/json' })
        response.end(JSON.stringify(failed ? { status, kind, title, detail } : result))
      })
    },
  }
}
