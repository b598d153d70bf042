import type { Page } from 'playwright-core'
import { expect, test } from './test.ts'

const outcome = (page: Page, value: 'true' | 'false' | 'error') => page.locator(`[data-outcome="${value}"]`).waitFor()

test('a condition is evaluated in all five spellings', async ({ serve, visit }) => {
  const { open, page, sees } = actions(await visit(await serve()))
  await open('/playground')
  await outcome(page, 'false')
  await sees(/states.lint.ExitCode/)
  const expected: [string, 'true' | 'false'][] = [['Typed group', 'true'], ['Condition list', 'false'], ['History', 'true'], ['Text match', 'true'], ['Expression', 'false']]
  for (const [spelling, value] of expected) {
    await page.getByRole('button', { name: spelling, exact: true }).click()
    await outcome(page, value)
    expect(await page.locator('.tree-card .ex').count()).toBeGreaterThan(1)
  }
})

test('the state is in the address, which survives a reload and never reaches the server', async ({ serve, visit }) => {
  const visitor = await visit(await serve())
  const { open, page } = actions(visitor)
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  await open('/playground')
  await outcome(page, 'false')
  await page.getByLabel('Condition', { exact: true }).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.type('inputs.mode == "prod"')
  await outcome(page, 'true')
  expect(new URL(page.url()).hash.length).toBeGreaterThan(20)
  await page.reload()
  await outcome(page, 'true')
  expect(await page.getByLabel('Condition', { exact: true }).innerText()).toContain('inputs.mode')
  expect(sent.filter((url) => url.includes('#'))).toEqual([])
})

test('a condition that does not compile shows its problem and no earlier result', async ({ serve, visit }) => {
  const { open, page, sees } = actions(await visit(await serve()))
  await open('/playground')
  await outcome(page, 'false')
  await page.getByLabel('Condition', { exact: true }).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.type('any(inputs.regions, hasPrefx(#, "eu"))')
  await sees(/did you mean `has_prefix`/)
  await sees('The condition does not compile')
  expect(await page.locator('.bigout').count()).toBe(0)
  expect(await page.locator('.sq').first().innerText()).toContain('hasPrefx')
})

test('cases are added, renamed and compared', async ({ serve, visit }) => {
  const { open, page } = actions(await visit(await serve()))
  await open('/playground')
  await outcome(page, 'false')
  await page.getByRole('tab', { name: 'lint fixed' }).click()
  await outcome(page, 'true')
  await page.getByRole('button', { name: 'Add a case' }).click()
  await page.getByRole('tab', { name: 'case 5' }).press('F2')
  await page.getByLabel('Name of the case').fill('nothing')
  await page.keyboard.press('Enter')
  await page.locator('.pg-ctx .cm-content').click()
  await page.keyboard.press('Control+a')
  await page.keyboard.type('{}')
  await page.locator('.cases-t tr', { hasText: 'nothing' }).getByText(/false|error/).first().waitFor()
  expect(await page.locator('.cases-t tbody tr').count()).toBe(5)
})

test('the values that a decision of a run used become a case', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('size', 'name: size\ninputs:\n  - {name: metadata.amount, type: number, required: true}\nsteps:\n  - id: size\n    step_type: if_else\n    if: metadata.amount > 100\n    then_steps: [{id: large, step_type: text, template: large}]\n    else_steps: [{id: small, step_type: text, template: small}]\n')
  await server.api('POST', '/runs?wait=20s', { workflow: 'size', inputs: { 'metadata.amount': 250 }, id: 'r-1' })
  const { open, page, sees } = actions(await visit(server))
  await open('/playground')
  await page.getByRole('button', { name: 'From a run' }).click()
  await page.getByRole('button', { name: /size/ }).filter({ hasText: 'metadata.amount' }).click()
  await outcome(page, 'true')
  await sees('r-1 size')
  expect(await page.getByLabel('Condition', { exact: true }).innerText()).toContain('metadata.amount')
})

function actions(visitor: import('./browser.ts').Visitor) {
  return { page: visitor.page, open: (path: string) => visitor.open(path), sees: (text: string | RegExp) => visitor.sees(text) }
}
