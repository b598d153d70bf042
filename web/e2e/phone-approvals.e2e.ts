import { outputOf, PEOPLE, PUBLISH, visitAs } from './people.ts'
import { expect, test } from './test.ts'

test('on a phone, the inbox leads to an approval with its choices at the bottom, and back', async ({ serve, visit }) => {
  const server = await serve({ config: PEOPLE })
  await server.save('publish', PUBLISH.replace('required_approvals: 2', 'required_approvals: 1'))
  await server.start('publish', { inputs: { input: 'notes' }, id: 'notes' })
  const eve = await visitAs(visit, server, 'eve', 'approver', { phone: true })
  await eve.open('/')
  await eve.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /Approvals/ }).click()
  await eve.sees('First vote decides')
  expect(await eve.accessibilityFindings()).toEqual([])
  await eve.page.getByRole('option').first().click()
  await eve.sees('Publish small notes?')
  await eve.sees(/size took then: input is/)
  expect(await eve.accessibilityFindings()).toEqual([])
  // The navigation makes room, and the choices stay in view however long the content is.
  expect(await eve.page.getByRole('navigation', { name: 'Main' }).isVisible()).toBe(false)
  const approve = eve.page.getByRole('button', { name: 'Approve' })
  const box = await approve.boundingBox()
  expect(box?.height).toBeGreaterThanOrEqual(44)
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(844)
  expect(await eve.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  await approve.click()
  await eve.page.getByRole('button', { name: 'Back' }).click()
  await approve.click()
  await eve.page.getByRole('button', { name: 'Vote approve' }).click()
  await eve.sees('Settled: approve')
  await expect.poll(() => outputOf(server, 'notes')).toBe('published')
  await eve.page.getByRole('link', { name: 'Back to approvals' }).click()
  await eve.sees('No pending approvals')
})

test('the overview and the runs fit a phone', async ({ serve, visit }) => {
  const server = await serve({ config: PEOPLE })
  await server.save('publish', PUBLISH)
  await server.start('publish', { inputs: { input: 'notes' }, id: 'a-run-with-a-name-that-is-much-longer-than-a-phone-is-wide' })
  const ada = await visit(server, { phone: true })
  for (const path of ['/', '/runs', '/settings/people']) {
    await ada.open(path)
    await ada.page.locator('.runs-table, .settings-part').first().waitFor()
    expect(await ada.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    expect(await ada.accessibilityFindings()).toEqual([])
  }
  await ada.open('/runs')
  await ada.sees(/size/)
})
