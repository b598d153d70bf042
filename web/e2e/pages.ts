import { readFileSync } from 'node:fs'
import { PEOPLE } from './people.ts'
import type { Server } from './server.ts'

/** Names of what `prepare` has made. */
export interface Place {
  completed: string
  waiting: string
  approval: string
}

/** Every page of the application, for checks that hold everywhere. */
export const PAGES: { name: string; path: (place: Place) => string }[] = [
  { name: 'overview', path: () => '/' },
  { name: 'workflows', path: () => '/workflows' },
  { name: 'workflow', path: () => '/workflows/support-triage' },
  { name: 'workflow-runs', path: () => '/workflows/support-triage/runs' },
  { name: 'versions', path: () => '/workflows/support-triage/versions?from=1&to=2' },
  { name: 'editor', path: () => '/workflows/draft-and-approve' },
  { name: 'runs', path: () => '/runs' },
  { name: 'run', path: (place) => `/runs/${place.waiting}` },
  { name: 'trace', path: (place) => `/runs/${place.completed}?view=timeline` },
  { name: 'approvals', path: () => '/approvals' },
  { name: 'approval', path: (place) => `/approvals/${place.approval}` },
  { name: 'sessions', path: () => '/sessions' },
  { name: 'session', path: () => '/sessions/research-then-plan/main' },
  { name: 'chat', path: () => '/chat/Researcher/c1' },
  { name: 'playground', path: () => '/playground' },
  { name: 'people', path: () => '/settings/people' },
  { name: 'tokens', path: () => '/settings/tokens' },
  { name: 'secrets', path: () => '/settings/secrets' },
  { name: 'providers', path: () => '/settings/providers' },
  { name: 'webhooks', path: () => '/settings/webhooks' },
  { name: 'audit', path: () => '/settings/audit' },
  { name: 'doctor', path: () => '/settings/doctor' },
  { name: 'diagnostic', path: () => '/docs/unknown_function' },
  { name: 'signin', path: () => '/signin' },
  { name: 'not-found', path: () => '/nothing-here' },
]

const text = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8')

/** A server with examples and three people; fill it with `prepare`. */
export const FILLED = { demo: true, config: PEOPLE }

/** Fills a demo server with runs in different states, an approval, a session and a chat. */
export async function prepare(server: Server): Promise<Place> {
  const run = (workflow: string, more: Record<string, unknown> = {}) =>
    server.api<{ id: string; status: string }>('POST', '/runs?wait=20s', { workflow, inputs: {}, ...more })
  const triage = text('support-triage.yaml')
  // Version 1 lacks the second approver and a part of a condition, so there is something to compare.
  await server.save('support-triage', triage.replace(' || metadata.amount > 100', '').replace('required_approvals: 2', 'required_approvals: 1'))
  await server.api('PUT', '/workflows/support-triage', { text: triage, base_version: 1 })
  for (const workflow of ['score-tiers', 'metadata-switch', 'gates-parallel', 'failing-branch', 'approved-email', 'decision-tree']) await run(workflow)
  const completed = await run('trending-topics', { id: 'topics-63' })
  const inputs = { input: 'I was charged twice, please help.', 'metadata.customer': 'ada@example.com', 'metadata.amount': 49 }
  const waiting = await run('support-triage', { id: 'triage-204', inputs, script: text('support-triage.script.yaml') })
  if (waiting.status !== 'waiting_people') throw new Error(`triage-204 is ${waiting.status}`)
  const session = '/agents/research-then-plan/sessions/main'
  for (const message of ['Okay, let’s plan the project structure.', 'research caching strategies']) await server.api('POST', `${session}/messages`, { text: message })
  await server.api('POST', `${session}/tools`, { tool: 'web_search' })
  await server.api('POST', `${session}/messages`, { text: 'plan again' })
  await server.api('POST', `${session}/tools`, { tool: 'summarize' })
  await server.api('POST', '/agents/Researcher/sessions/c1/turns', { text: 'What is new in databases?' })
  const approvals = await server.api<{ items: { key: string }[] }>('GET', '/approvals?show=all')
  return { completed: completed.id, waiting: waiting.id, approval: approvals.items[0]?.key ?? '' }
}
