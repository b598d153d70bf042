import { FILLED, PAGES, prepare } from './pages.ts'
import { expect, test } from './test.ts'

/** Time for a visit of every page on a slow machine. */
const ALL_PAGES_MS = 300_000

for (const look of ['light', 'dark', 'phone'] as const) {
  test(`no page has accessibility findings (${look})`, async ({ serve, visit }) => {
    const server = await serve(FILLED)
    const place = await prepare(server)
    const visitor = await visit(server, { dark: look === 'dark', phone: look === 'phone' })
    const findings: Record<string, string[]> = {}
    for (const { name, path } of PAGES) {
      await visitor.open(path(place))
      const found = await visitor.accessibilityFindings()
      if (found.length > 0) findings[name] = found
    }
    expect(findings).toEqual({})
  }, ALL_PAGES_MS)
}

test('the theme follows the system until somebody chooses one, and the choice survives a reload', async ({ serve, visit }) => {
  const visitor = await visit(await serve({ demo: true }), { dark: true })
  const page = await visitor.open('/')
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
  expect(await theme()).toBe('dark')
  await page.getByRole('button', { name: 'Theme' }).click()
  await page.getByRole('menuitem', { name: 'Light' }).click()
  await expect.poll(theme).toBe('light')
  await page.reload()
  await page.locator('#main').waitFor()
  expect(await theme()).toBe('light')
})

test('no page scrolls sideways on a phone', async ({ serve, visit }) => {
  const server = await serve(FILLED)
  const place = await prepare(server)
  const visitor = await visit(server, { phone: true })
  const wide: string[] = []
  for (const { name, path } of PAGES) {
    await visitor.open(path(place))
    await visitor.settles()
    const overflow = await visitor.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    if (overflow > 0) wide.push(`${name}: ${overflow} px`)
  }
  expect(wide).toEqual([])
}, ALL_PAGES_MS)

test('the policy of the page allows no inline script and no other host', async ({ serve }) => {
  const server = await serve({ demo: true })
  const response = await fetch(`${server.url}/runs`, { headers: { accept: 'text/html' } })
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self';")
  expect(policy).toContain("connect-src 'self';")
  expect(policy).not.toContain('unsafe-eval')
  expect(policy).not.toMatch(/https?:/)
  expect(response.headers.get('cache-control')).toBe('no-cache')
  const html = await response.text()
  const script = /src="([^"]+\/index-[^"]+\.js)"/.exec(html)?.[1] ?? ''
  const asset = await fetch(server.url + script)
  expect(asset.headers.get('cache-control')).toContain('immutable')
  // Two responses never share a nonce.
  const nonce = (text: string) => /nonce="([0-9a-f]+)"/.exec(text)?.[1]
  expect(nonce(html)).not.toBe(nonce(await (await fetch(`${server.url}/runs`)).text()))
})
