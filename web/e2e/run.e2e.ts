import type { Page } from 'playwright-core'
import type { Server } from './server.ts'
import { expect, test } from './test.ts'

const TRIAGE = `name: triage-mail
steps:
  - {id: classify, step_type: prompt_call, prompt_template: "Sort {{input}}"}
  - id: charges
    step_type: for_each
    input_template: "{{step.classify.output}}"
    body:
      - {id: receipt, step_type: text, template: "receipt of {{step.charges.item}}"}
      - {id: explain, step_type: prompt_call, prompt_template: "Explain {{input}}"}
  - {id: score, step_type: prompt_call, prompt_template: "Rate {{input}}"}
  - id: tier
    step_type: conditional
    if: step.score.output == "low"
    then: [{id: drop, step_type: text, template: dropped}]
    elif:
      - if: step.score.output == "middle" || metadata.amount > 100
        then: [{id: ask, step_type: human_in_the_loop, prompt_template: "Send it?"}]
    else: [{id: mail, step_type: text, template: sent}]
  - {id: show, step_type: text, template: "The end: {{input}}"}
`

const SCRIPT = 'classify: [{$output: [ch_41, ch_42, ch_43]}]\nexplain: [first, second, third]\nscore: [middle]\n'

const FAILING = 'name: failing\nsteps:\n  - {id: slow, step_type: prompt_call, prompt_template: "a"}\n  - {id: fast, step_type: prompt_call, prompt_template: "b"}\n  - {id: after, step_type: text, template: c}\n'

async function waitingRun(server: Server): Promise<void> {
  await server.save('triage-mail', TRIAGE)
  await server.api('POST', '/runs?wait=20s', {
    workflow: 'triage-mail', id: 'mail-1', script: SCRIPT, inputs: { input: 'I was charged twice', metadata: { amount: 49 } },
  })
}

/** A row of the step tree by its text, with the text for screen readers. */
const row = (page: Page, text: RegExp) => page.getByRole('treeitem').filter({ hasText: text })
const node = (page: Page, name: string | RegExp) => page.locator('.canvas').getByRole('group', { name })

test('a run shows what it did as a tree and as a graph, and why it took a branch', async ({ serve, visit }) => {
  const server = await serve()
  await waitingRun(server)
  const visitor = await visit(server)
  const page = await visitor.open('/runs/mail-1')
  await page.getByRole('banner').or(page.locator('.run-bar')).getByText('Waiting for approval').first().waitFor()
  await row(page, /^classify, prompt_call, completed/).waitFor()
  await row(page, /^drop, .*not\staken/).waitFor()
  await row(page, /^show, not reached/).waitFor()
  // The reason of the last decision is open.
  const panel = page.getByRole('complementary', { name: 'Step tier' })
  await panel.getByText('branch 2 of 3').waitFor()
  expect(await panel.locator('.why-line').innerText()).toContain('is "middle"')
  expect(await panel.locator('.arm.is-taken').innerText()).toContain('elif-0')
  expect(await panel.locator('.arm').last().innerText()).toContain('not evaluated')
  // The graph says the same, also to people who cannot see it.
  await node(page, /^tier, conditional, took elif-0 because .*Not\staken: then to drop, else to mail\.$/).waitFor()
  expect(await page.locator('.canvas .way-taken').innerText()).toContain('elif-0')
  expect(await page.locator('.canvas .edge-live').count()).toBeGreaterThan(0)
})

test('a vote in another browser continues the run on the open page', async ({ serve, visit }) => {
  const server = await serve()
  await waitingRun(server)
  const visitor = await visit(server)
  const page = await visitor.open('/runs/mail-1')
  await row(page, /^show, not reached/).waitFor()
  const approvals = await server.api<{ items: { key: string }[] }>('GET', '/approvals?show=all')
  await server.api('POST', `/approvals/${approvals.items[0]?.key}/vote`, { choice: 'approve' })
  await row(page, /^show, text, completed/).waitFor()
  await page.locator('.run-bar').getByText('Completed').waitFor()
  await page.getByRole('button', { name: 'Run again' }).waitFor()
})

test('a link opens a step in its iteration, and the squares of the loop choose another', async ({ serve, visit }) => {
  const server = await serve()
  await waitingRun(server)
  const visitor = await visit(server)
  const page = await visitor.open('/runs/mail-1?step=charges[1].explain')
  await page.getByText('prompt_call in charges [1]').waitFor()
  await node(page, /^explain, .*iteration \[1\]$/).waitFor()
  await page.locator('.canvas').getByTitle('[2] ch_43, completed').click()
  await node(page, /^explain, .*iteration \[2\]$/).waitFor()
  await page.getByRole('tab', { name: 'Output' }).click()
  expect(new URL(page.url()).searchParams.get('tab')).toBe('output')
})

test('the timeline has the same steps with their bars and the result', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('failing', FAILING)
  await server.api('POST', '/runs?wait=20s', { workflow: 'failing', id: 'ok-1', script: 'slow: [a]\nfast: [b]\n' })
  const visitor = await visit(server)
  const page = await visitor.open('/runs/ok-1')
  await row(page, /^slow/).waitFor()
  await page.keyboard.press('v')
  await page.getByRole('columnheader', { name: 'Duration' }).or(page.getByText('Duration', { exact: true })).first().waitFor()
  expect(await page.locator('.timeline .track i').count()).toBeGreaterThan(0)
  await page.locator('.result').getByText('c', { exact: true }).waitFor()
  expect(new URL(page.url()).searchParams.get('view')).toBe('timeline')
})

test('the steps can be read by keyboard alone', async ({ serve, visit }) => {
  const server = await serve()
  await waitingRun(server)
  const visitor = await visit(server)
  const page = await visitor.open('/runs/mail-1')
  await row(page, /^classify/).waitFor()
  await page.getByRole('tree', { name: 'Steps' }).focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('Enter')
  const heading = page.getByRole('heading', { name: 'classify' })
  await expect.poll(() => heading.evaluate((element) => element === document.activeElement)).toBe(true)
  await page.keyboard.press('Escape')
  await page.getByRole('complementary').waitFor({ state: 'detached' })
  await expect.poll(() => page.getByRole('tree').evaluate((element) => element === document.activeElement)).toBe(true)
  // In the graph, arrows follow the edges.
  await node(page, /^score/).focus()
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')).toContain('tier, conditional')
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')).toContain('ask, human_in_the_loop')
})

test('a failed run says what failed, and is retried in a new run', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('failing', FAILING)
  await server.api('POST', '/runs?wait=20s', { workflow: 'failing', id: 'bad-1', script: 'slow: [a]\nfast: [{$error: the model is down}, b]\n' })
  const visitor = await visit(server)
  const page = await visitor.open('/runs/bad-1')
  await page.locator('.failcard').getByText('failed: the model is down').waitFor()
  await row(page, /^after, .*not reached because the run had failed/).waitFor()
  await page.getByRole('button', { name: 'Retry fast' }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith('/bad-1'))
  await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'bad-1' }).waitFor()
  // The result of the step before is taken over.
  await row(page, /^slow, prompt_call, completed/).waitFor()
})

test('cancelling says what is withdrawn, and the page shows the cancelled run', async ({ serve, visit }) => {
  const server = await serve()
  await waitingRun(server)
  const visitor = await visit(server)
  const page = await visitor.open('/runs/mail-1')
  await page.getByRole('button', { name: 'Cancel run' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 approval will be withdrawn').waitFor()
  await dialog.getByRole('button', { name: /^Cancel run/ }).click()
  await page.locator('.run-bar').getByText('Cancelled').waitFor()
})

test('a decision is tried with other values, and the run is forked from it', async ({ serve, visit }) => {
  const server = await serve()
  await waitingRun(server)
  const visitor = await visit(server)
  const page = await visitor.open('/runs/mail-1?step=tier')
  await page.getByRole('button', { name: 'Try other values' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('step.score.output').fill('"low"')
  await dialog.getByRole('button', { name: /^Decide/ }).click()
  await dialog.getByText('Would take').waitFor()
  expect(await dialog.locator('.took').innerText()).toContain('then')
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
  await page.getByRole('button', { name: 'Fork from here' }).click()
  await page.getByRole('dialog').getByLabel('Id of the new run').fill('mail-2')
  await page.getByRole('dialog').getByRole('button', { name: /^Fork run/ }).click()
  await page.waitForURL(/\/runs\/mail-2/)
  await page.locator('.run-bar').getByText('mail-2').waitFor()
})

test('on a phone a run begins with what it is waiting for, and a step opens as a page', async ({ serve, visit }) => {
  const server = await serve()
  await waitingRun(server)
  const visitor = await visit(server, { phone: true })
  const page = await visitor.open('/runs/mail-1')
  await page.locator('.p-card').getByText('ask', { exact: true }).waitFor()
  expect(await page.locator('.p-card').innerText()).toContain('"middle"')
  await page.getByRole('button', { name: 'Answer' }).waitFor()
  await row(page, /^tier/).click()
  await page.getByRole('heading', { name: 'tier' }).waitFor()
  await page.getByText('branch 2 of 3').waitFor()
  await page.getByRole('button', { name: 'Close panel' }).click()
  await page.getByRole('button', { name: 'Graph' }).click()
  await node(page, /^classify/).waitFor()
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  expect(width).toBeLessThanOrEqual(390)
})

test('a loop of many items is grouped by status, and a step is found by search', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('many', 'name: many\nsteps:\n  - {id: list, step_type: prompt_call, prompt_template: a}\n  - id: rows\n    step_type: for_each\n    input_template: "{{step.list.output}}"\n    limit: 500\n    body:\n      - {id: row, step_type: text, template: "{{step.rows.item}}"}\n')
  const items = Array.from({ length: 120 }, (_, n) => `i${n}`).join(', ')
  await server.api('POST', '/runs?wait=30s', { workflow: 'many', id: 'many-1', script: `list: [{$output: [${items}]}]\n`, inputs: {} })
  const visitor = await visit(server)
  const page = await visitor.open('/runs/many-1')
  const group = row(page, /^120 completed/)
  await group.getByText('[0] to [119]').waitFor()
  expect(await page.getByRole('treeitem').count()).toBeLessThan(10)
  await group.click()
  await row(page, /^\[0\]/).waitFor()
  // Only the rows in view are in the page.
  expect(await page.getByRole('treeitem').count()).toBeLessThan(80)
  await page.getByRole('button', { name: 'Search steps' }).click()
  await page.getByRole('searchbox', { name: 'Search steps' }).fill('list')
  await expect.poll(() => page.getByRole('treeitem').count()).toBe(1)
  await row(page, /^list/).click()
  await page.getByRole('heading', { name: 'list' }).waitFor()
})
