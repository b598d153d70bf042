import { expect, test } from './test.ts'

const GATE = `{"steps": [
  {"name": "research", "conditions": [{"type": "message_contains", "value": "research"}], "availableTools": {"allowed": ["web_search", "summarize"]}},
  {"name": "planning", "conditions": [{"type": "message_contains", "value": "plan"}], "availableTools": {"allowed": ["think"], "denied": ["web_delete"]}},
  {"name": "start", "isDefault": true}
]}`

test('the tools of a session change live while a host reports events', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('assistant', GATE)
  const { page, ...visitor } = await openSession(await visit(server))
  await visitor.sees('4 of 4 offered to the model')
  // The host of the agent reports, not this page.
  await server.api('POST', '/agents/assistant/sessions/main/messages', { text: 'research caching' })
  const tool = (name: string) => page.locator('.tool', { hasText: name })
  await tool('think').getByText('not offered', { exact: true }).waitFor()
  expect(await tool('think').innerText()).toContain('not listed in research; listed in planning')
  expect(await tool('web_search').innerText()).toContain('allowed by research')
  await server.api('POST', '/agents/assistant/sessions/main/messages', { text: 'now plan it' })
  await tool('think').getByText('offered', { exact: true }).waitFor()
  expect(await tool('web_delete').innerText()).toContain('denied by web_delete in planning')
  expect(await page.locator('.ev').count()).toBe(2)
  expect(await page.locator('.arm.is-taken').innerText()).toContain('planning')
})

test('an earlier event shows the gate as of that event, and now again', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('assistant', GATE)
  const { page, ...visitor } = await openSession(await visit(server))
  for (const text of ['research caching', 'now plan it']) await server.api('POST', '/agents/assistant/sessions/main/messages', { text })
  // While it is the latest event, selecting it shows the gate as of now.
  await page.locator('.ev', { hasText: 'now plan it' }).waitFor()
  await page.locator('.ev', { hasText: 'research caching' }).getByRole('button').click()
  await visitor.sees(/^As of /)
  expect(new URL(page.url()).searchParams.get('at')).toMatch(/^\d+$/)
  await page.locator('.arm.is-taken', { hasText: 'research' }).waitFor()
  await page.reload()
  await page.locator('.arm.is-taken', { hasText: 'research' }).waitFor()
  await page.getByRole('link', { name: 'Back to now' }).click()
  await page.locator('.arm.is-taken', { hasText: 'planning' }).waitFor()
})

test('an operator reports events with the keyboard alone, and resets the session', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('assistant', GATE)
  const { page, ...visitor } = await openSession(await visit(server))
  await page.getByLabel('User message').focus()
  await page.keyboard.type('research caching')
  await page.keyboard.press('Enter')
  await page.locator('.moved', { hasText: 'research' }).waitFor()
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await page.getByLabel('Name of the tool').focus()
  await page.keyboard.type('web_search')
  await page.keyboard.press('Enter')
  await page.locator('.h-chip', { hasText: 'web_search' }).waitFor()
  await page.getByRole('button', { name: 'Reset' }).focus()
  await page.keyboard.press('Enter')
  await visitor.sees(/forgets its messages/)
  await page.keyboard.press('Control+Enter')
  await page.locator('.arm.is-taken', { hasText: 'start' }).waitFor()
  expect(await page.locator('.h-chip').count()).toBe(0)
})

test('what users write in a session is shown as text', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('assistant', GATE)
  const { page } = await openSession(await visit(server))
  const hostile = '<img src=x onerror="window.wasHarmed = true"><b>research</b>'
  await server.api('POST', '/agents/assistant/sessions/main/messages', { text: hostile })
  await page.getByText(hostile).first().waitFor()
  expect(await page.evaluate(() => 'wasHarmed' in window)).toBe(false)
})

/** Opens the session `main` of the document `assistant` as a person does. */
async function openSession(visitor: import('./browser.ts').Visitor) {
  const page = await visitor.open('/sessions')
  await page.getByRole('button', { name: /assistant/ }).click()
  await page.getByRole('button', { name: 'Open session' }).click()
  await page.getByRole('heading', { name: 'main' }).waitFor()
  // Live events arrive from now on.
  await page.getByText('Live', { exact: true }).first().waitFor()
  return { page, sees: (text: string | RegExp) => visitor.sees(text) }
}
