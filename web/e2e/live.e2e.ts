import { ModelServer } from './model.ts'
import { expect, test } from './test.ts'

const PATIENT = 'name: patient\nsteps:\n  - {id: pause, step_type: wait, duration: 4s}\n  - {id: done, step_type: text, template: finished}\n'
const ASKING = 'name: asking\nsteps:\n  - {id: ask, step_type: human_in_the_loop, prompt_template: "Continue?"}\n  - {id: done, step_type: text, template: "{{step.ask.output.outcome}}"}\n'

test('a server that is killed and restarted in the middle of a run continues it, and the page catches up', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('patient', PATIENT)
  const visitor = await visit(server)
  const page = await visitor.open('/runs')
  await page.getByText('Live', { exact: true }).first().waitFor()
  await server.start('patient', { id: 'p-1' })
  const row = page.getByRole('row', { name: /p-1/ })
  await row.getByText('Waiting for timer').waitFor()
  await server.kill()
  await visitor.sees('Connection lost.')
  expect(await page.getByRole('row', { name: /p-1/ }).count()).toBe(1)
  await server.restart()
  await visitor.sees(/^Reconnected\./)
  // The timer fires in the new process, and the page is not reloaded.
  await row.getByText('Completed').waitFor()
})

test('a page that is reloaded in the middle of a run looks the same and stays live', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('asking', ASKING)
  const visitor = await visit(server)
  const page = await visitor.open('/runs')
  await server.start('asking', { id: 'a-1' })
  const row = page.getByRole('row', { name: /a-1/ })
  await row.getByText('Waiting for approval').waitFor()
  const before = await row.innerText()
  await page.reload()
  await row.getByText('Waiting for approval').waitFor()
  expect(withoutTimes(await row.innerText())).toBe(withoutTimes(before))
  await page.getByText('Live', { exact: true }).first().waitFor()
  server.run(['approvals', 'approve', 'a-1', '--as', 'ada', '--store', server.store])
  await row.getByText('Completed').waitFor()
})

test('the text of a model streams on the page of its run, also after a reload in the middle', async ({ serve, visit }) => {
  const model = await ModelServer.start()
  try {
    const server = await serve({ config: model.config })
    await server.save('writer', 'name: writer\nsteps:\n  - {id: write, step_type: prompt_call, prompt_template: "Write about {{input}}"}\n')
    model.reply('Tides follow the moon and rise twice a day.')
    model.hold()
    await server.start('writer', { id: 'w-1', inputs: { input: 'tides' } })
    await expect.poll(() => model.requests.length).toBe(1)
    // The page is opened while the model writes, so the beginning of the text was streamed before.
    const visitor = await visit(server)
    const page = await visitor.open('/runs/w-1?step=write&tab=output')
    const streamed = page.locator('.streamed', { hasText: /^Tides follow the moon/ })
    await streamed.waitFor()
    expect(await streamed.innerText()).not.toContain('twice a day')
    await page.reload()
    await streamed.waitFor()
    model.release()
    await page.getByText('Completed', { exact: true }).first().waitFor()
    await page.getByText('Tides follow the moon and rise twice a day.').first().waitFor()
  } finally {
    await model.stop()
  }
})

test('a person who returns to a run sees what happened meanwhile', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('asking', ASKING)
  await server.start('asking', { id: 'a-1' })
  const visitor = await visit(server)
  const page = await visitor.open('/runs/a-1')
  await page.locator('.tr', { hasText: 'ask' }).waitFor()
  await page.getByRole('link', { name: 'Workflows', exact: true }).click()
  await page.getByRole('row', { name: /asking/ }).waitFor()
  server.run(['approvals', 'approve', 'a-1', '--as', 'ada', '--store', server.store])
  await page.goBack()
  await page.locator('.tr.is-done', { hasText: 'done' }).waitFor()
})

test('what is shown stays when it cannot be loaded again', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('asking', ASKING)
  await server.start('asking', { id: 'a-1' })
  const visitor = await visit(server)
  const page = await visitor.open('/runs/a-1')
  await page.locator('.tr', { hasText: 'ask' }).waitFor()
  await visitor.sees('Live')
  let failed = 0
  await page.route('**/api/v1/runs/a-1', async (route) => {
    await route.abort()
    failed++
  })
  server.run(['approvals', 'approve', 'a-1', '--as', 'ada', '--store', server.store])
  // The change of its status loads the run again, twice in vain.
  await expect.poll(() => failed, { timeout: 20_000 }).toBeGreaterThan(1)
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))))
  await page.locator('.tr.is-done', { hasText: 'done' }).waitFor()
  expect(await page.getByText(/Couldn’t load/).count()).toBe(0)
})

test('two tabs share one stream of events, and both follow a run', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('asking', ASKING)
  const visitor = await visit(server)
  const page = await visitor.open('/runs')
  const second = await visitor.context.newPage()
  await second.goto(`${server.url}/runs`)
  for (const tab of [page, second]) await tab.getByText('Live', { exact: true }).first().waitFor()
  await server.start('asking', { id: 'a-1' })
  for (const tab of [page, second]) await tab.getByRole('row', { name: /a-1/ }).getByText('Waiting for approval').waitFor()
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  expect(/streams[^\n]* 1$/m.test(metrics), metrics).toBe(true)
})

const withoutTimes = (text: string) => text.replace(/< 1 ms|[\d.,]+\s(ms|s|min|h)( ago)?/g, '').replace(/\s+/g, ' ')
