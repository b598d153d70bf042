import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { FILLED, PAGES, prepare } from './pages.ts'
import { Server } from './server.ts'

interface Report {
  categories: Record<string, { auditRefs: { id: string }[] }>
  audits: Record<string, { title: string; score: number | null; scoreDisplayMode: string; details?: { items?: unknown[] } }>
}

/** The findings of Lighthouse on one page: audits of accessibility and best practices that do not pass. */
function findings(url: string): string[] {
  const [program = 'npx', ...words] = (process.env.LIGHTHOUSE ?? 'npx --yes lighthouse@12').split(' ')
  const flags = ['--quiet', '--output=json', '--only-categories=accessibility,best-practices', '--preset=desktop', '--chrome-flags=--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage']
  const printed = execFileSync(program, [...words, url, ...flags], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, CHROME_PATH: process.env.CHROMIUM } })
  const report = JSON.parse(printed) as Report
  const audits = Object.values(report.categories).flatMap((category) => category.auditRefs.map(({ id }) => ({ id, audit: report.audits[id] })))
  const failed = audits.filter(({ audit }) => audit && audit.score !== null && audit.score < 1 && !['informative', 'manual', 'notApplicable'].includes(audit.scoreDisplayMode))
  return failed.map(({ id, audit }) => `${id}: ${audit?.title} ${JSON.stringify(audit?.details?.items ?? []).slice(0, 400)}`)
}

test('Lighthouse has no findings on any page', async () => {
  const server = await Server.start(FILLED)
  try {
    const place = await prepare(server)
    const only = process.env.ONLY?.split(',')
    const found: Record<string, string[]> = {}
    // Lighthouse refuses pages whose status is 404; axe-core checks that one in the browser tests.
    for (const { name, path } of PAGES.filter(({ name }) => name !== 'not-found')) {
      if (only && !only.includes(name)) continue
      const list = findings(server.url + path(place))
      console.log(`${name}: ${list.length === 0 ? 'no findings' : `\n  ${list.join('\n  ')}`}`)
      if (list.length > 0) found[name] = list
    }
    expect(found).toEqual({})
  } finally {
    await server.stop()
  }
})
