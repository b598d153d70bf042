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
  { name: 'workflow', path: () => '/workflows/score-tiers' },
  { name: 'workflow-runs', path: () => '/workflows/score-tiers/runs' },
  { name: 'versions', path: () => '/workflows/score-tiers/versions' },
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

/** Fills a demo server with runs in different states, a session and a chat. */
export async function prepare(server: Server): Promise<Place> {
  const run = (workflow: string, inputs: Record<string, unknown> = {}) =>
    server.api<{ id: string; status: string }>('POST', '/runs?wait=20s', { workflow, inputs })
  const completed = await run('score-tiers')
  await run('metadata-switch')
  await run('gates-parallel')
  await run('failing-branch')
  const waiting = await run('approved-email')
  const session = '/agents/research-then-plan/sessions/main'
  for (const text of ['Okay, let’s plan the project structure.', 'research caching strategies']) await server.api('POST', `${session}/messages`, { text })
  await server.api('POST', `${session}/tools`, { tool: 'web_search' })
  await server.api('POST', `${session}/messages`, { text: 'plan again' })
  await server.api('POST', `${session}/tools`, { tool: 'summarize' })
  await server.api('POST', '/agents/Researcher/sessions/c1/turns', { text: 'What is new in databases?' })
  const approvals = await server.api<{ items: { key: string }[] }>('GET', '/approvals?show=all')
  return { completed: completed.id, waiting: waiting.id, approval: approvals.items[0]?.key ?? '' }
}
