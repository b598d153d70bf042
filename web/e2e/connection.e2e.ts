import { PEOPLE, PUBLISH } from './people.ts'
import { expect, test } from './test.ts'

test('a lost connection is shown, actions wait for it, and missed events arrive after the reconnect', async ({ serve, visit }) => {
  const server = await serve({ config: PEOPLE })
  await server.save('publish', PUBLISH)
  await server.start('publish', { inputs: { input: 'notes' }, id: 'notes' })
  const ada = await visit(server)
  await ada.open('/approvals/notes/3')
  await ada.page.getByLabel('Comment').fill('Kept while offline')
  await ada.sees('Live')
  await server.kill()
  await ada.sees('Connection lost.')
  await ada.sees(/Data as of \d\d:\d\d:\d\d\. Retrying/)
  await ada.sees('Offline')
  const approve = ada.page.getByRole('button', { name: 'Approve' })
  expect(await approve.isDisabled()).toBe(true)
  expect(await approve.getAttribute('title')).toContain('Connection lost')
  await ada.sees('Publish small notes?')

  await server.restart()
  server.run(['approvals', 'vote', 'notes', 'approve', '--as', 'eve', '--store', server.store])
  await ada.page.getByRole('button', { name: 'Retry now' }).click({ timeout: 3000 }).catch(() => undefined)
  await ada.sees(/Reconnected\./)
  await ada.page.locator('.voter').filter({ hasText: 'eve' }).getByText('approve').waitFor()
  expect(await approve.isEnabled()).toBe(true)
  expect(await ada.page.getByLabel('Comment').inputValue()).toBe('Kept while offline')
})

test('a tab of an older build offers to reload, and never reloads by itself', async ({ serve, visit }) => {
  const server = await serve({ config: PEOPLE })
  await server.save('publish', PUBLISH)
  await server.start('publish', { inputs: { input: 'notes' }, id: 'notes' })
  const ada = await visit(server)
  await ada.open('/approvals/notes/3')
  await ada.page.getByLabel('Comment').fill('Not lost by an update')
  await ada.sees('Live')
  // The server of the next build: its document names another entry script.
  const newer = async (route: import('playwright-core').Route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replace(/\/assets\/index-[^"]+\.js/, '/assets/index-NEWER.js') })
  }
  await ada.page.route(`${server.url}/`, newer)
  let loads = 0
  ada.page.on('load', () => loads++)
  await server.restart()
  await ada.sees('A new version is available.')
  expect(loads).toBe(0)
  expect(await ada.page.getByLabel('Comment').inputValue()).toBe('Not lost by an update')
  expect(await ada.accessibilityFindings()).toEqual([])
  await ada.page.unroute(`${server.url}/`, newer)
  await ada.page.getByRole('button', { name: 'Reload' }).click()
  await expect.poll(() => loads).toBe(1)
  await ada.sees('Publish small notes?')
  expect(await ada.page.getByText('A new version is available.').count()).toBe(0)
})
