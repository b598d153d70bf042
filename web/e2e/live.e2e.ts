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
