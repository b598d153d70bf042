import type { Browser } from 'playwright-core'
import { test as base } from 'vitest'
import { launch, type Look, Visitor } from './browser.ts'
import { Server, type ServerOptions } from './server.ts'

interface Fixtures {
  browser: Browser
  /** Starts a server, which ends with the test. */
  serve: (options?: ServerOptions) => Promise<Server>
  /** Opens a browser context on a server. The test fails if a script of the page failed, or if its security policy was violated. */
  visit: (server: Server, look?: Look) => Promise<Visitor>
}

/** A test of the real program in a real browser. */
export const test = base.extend<Fixtures>({
  // One browser for all tests of a file, closed with its process.
  browser: [
    async ({}, use) => {
      const browser = await launch()
      await use(browser)
      await browser.close()
    },
    { scope: 'file' },
  ],
  serve: async ({ task: _ }, use) => {
    const servers: Server[] = []
    await use(async (options) => {
      const server = await Server.start(options)
      servers.push(server)
      return server
    })
    for (const server of servers) await server.stop()
  },
  visit: async ({ browser, task }, use) => {
    const visitors: Visitor[] = []
    await use(async (server, look) => {
      const visitor = await Visitor.arrive(browser, server, look)
      visitors.push(visitor)
      return visitor
    })
    const hasFailed = task.result?.state === 'fail'
    const found = visitors.flatMap((visitor) => [...visitor.mistakes, ...visitor.foreign.map((url) => `request to ${url}`)])
    for (const [index, visitor] of visitors.entries()) {
      if (hasFailed || found.length > 0) await visitor.picture(`${task.name}-${index + 1}`)
      await visitor.leave()
    }
    if (!hasFailed && found.length > 0) throw new Error(`The page reported:\n${found.join('\n')}`)
  },
})

export { expect } from 'vitest'
