import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FILLED, PAGES, prepare } from './pages.ts'
import { withPalette } from './png.ts'
import { test } from './test.ts'

const FOLDER = fileURLToPath(new URL('../../docs/screens/', import.meta.url))

/** Pages whose states on a phone the design shows. */
const ON_PHONE = ['overview', 'run', 'approvals', 'approval', 'session', 'runs']

test('screenshots of every page', async ({ serve, visit }) => {
  mkdirSync(FOLDER, { recursive: true })
  const server = await serve(FILLED)
  const place = await prepare(server)
  const first = await serve()
  for (const look of ['light', 'dark', 'phone'] as const) {
    const visitor = await visit(server, { dark: look === 'dark', phone: look === 'phone' })
    for (const { name, path } of PAGES.filter((page) => look !== 'phone' || ON_PHONE.includes(page.name))) {
      await visitor.open(path(place))
      await shoot(visitor, `${name}-${look}`)
    }
    if (look === 'phone') continue
    const newcomer = await visit(first, { dark: look === 'dark' })
    await newcomer.open('/')
    await shoot(newcomer, `first-run-${look}`)
  }
})

async function shoot(visitor: import('./browser.ts').Visitor, name: string): Promise<void> {
  const { page } = visitor
  await visitor.settles()
  // Layout of graphs in a worker, and transitions, end within this time.
  await page.waitForTimeout(600)
  writeFileSync(`${FOLDER}${name}.png`, withPalette(await page.screenshot({ animations: 'disabled', caret: 'hide' })))
}
