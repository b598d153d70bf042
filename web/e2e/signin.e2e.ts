import { describe } from 'vitest'
import { oneTimeLink, PEOPLE, PUBLISH, token, visitAs } from './people.ts'
import { SignInProvider } from './provider.ts'
import { expect, test } from './test.ts'

describe('signing in', () => {
  test('a token signs a browser in and leads back to where the person wanted to go', async ({ serve, visit }) => {
    const server = await serve({ config: PEOPLE, signIn: true })
    const eve = await visit(server)
    await eve.open('/runs?status=failed')
    await eve.page.getByLabel('Token').waitFor()
    expect(await eve.accessibilityFindings()).toEqual([])
    await eve.page.getByLabel('Token').fill('bp_wrong')
    await eve.page.getByRole('button', { name: 'Sign in' }).click()
    await eve.sees('The token is unknown, expired or revoked. Check it, or create a new one.')
    await eve.page.getByLabel('Token').fill(token(server, 'eve', 'viewer'))
    await eve.page.getByRole('button', { name: 'Sign in' }).click()
    await eve.page.waitForURL('**/runs?status=failed')
    await eve.page.getByRole('button', { name: 'Signed in as eve' }).click()
    await eve.page.getByRole('menuitem', { name: 'Sign out' }).click()
    await eve.page.getByLabel('Token').waitFor()
    await eve.open('/runs')
    await eve.page.getByLabel('Token').waitFor()
  })

  test('a one-time link needs a click, works once, and never leads to another site', async ({ serve, visit }) => {
    const server = await serve({ config: PEOPLE, signIn: true })
    const code = oneTimeLink(server, 'eve', 'approver').searchParams.get('code') ?? ''
    const eve = await visit(server)
    await eve.open(`/signin?code=${code}&to=${encodeURIComponent('//evil.example/x')}`)
    await eve.page.getByRole('button', { name: 'Sign in to Branchpoint' }).click()
    await eve.page.getByRole('button', { name: 'Signed in as eve' }).waitFor()
    expect(new URL(eve.page.url()).origin).toBe(server.url)
    const thief = await visit(server)
    await thief.open(`/signin?code=${code}`)
    await thief.page.getByRole('button', { name: 'Sign in to Branchpoint' }).click()
    await thief.sees('The link is unknown, used or expired. Create a new one.')
  })
})

describe('signing in with a provider', () => {
  test('a person signs in at the provider, and comes back to where they wanted to go with their role', async ({ serve, visit, skip }) => {
    const provider = await SignInProvider.start()
    if (!provider) return skip()
    try {
      const server = await serve({ signIn: true, config: provider.config, files: { 'secrets.env': 'OIDC_SECRET=canary\n' } })
      const ada = await visit(server, { provider: provider.url })
      await ada.open('/runs?status=failed')
      await ada.page.getByRole('link', { name: 'Sign in with Example' }).click()
      await ada.page.getByRole('button', { name: 'ada' }).click()
      await ada.page.waitForURL(`${server.url}/runs?status=failed`)
      await ada.page.getByRole('button', { name: 'Signed in as ada@example.com' }).waitFor()
      await ada.page.getByRole('link', { name: 'Workflows', exact: true }).click()
      await ada.page.getByRole('link', { name: 'New workflow' }).or(ada.page.getByRole('button', { name: 'New workflow' })).first().waitFor()
      await ada.page.reload()
      await ada.page.getByRole('button', { name: 'Signed in as ada@example.com' }).waitFor()
    } finally {
      await provider.stop()
    }
  })

  test('a person without a role, or who declines, reads why on the sign-in page and can try again', async ({ serve, visit, skip }) => {
    const provider = await SignInProvider.start()
    if (!provider) return skip()
    try {
      const server = await serve({ signIn: true, config: provider.config, files: { 'secrets.env': 'OIDC_SECRET=canary\n' } })
      const eve = await visit(server, { provider: provider.url })
      await eve.open('/signin')
      await eve.page.getByRole('link', { name: 'Sign in with Example' }).click()
      await eve.page.getByRole('button', { name: 'eve' }).click()
      await eve.sees(/no role of this server is for eve@example\.com/)
      expect(await eve.accessibilityFindings()).toEqual([])
      await eve.page.getByRole('link', { name: 'Sign in with Example' }).click()
      await eve.page.getByRole('button', { name: 'Deny' }).click()
      await eve.sees('Example did not sign you in: no code.')
      await eve.page.reload()
      await eve.page.getByLabel('Token').waitFor()
      expect(await eve.page.getByRole('alert').count()).toBe(0)
    } finally {
      await provider.stop()
    }
  })
})

describe('roles', () => {
  test('a viewer sees runs and approvals, and none of the forbidden actions', async ({ serve, visit }) => {
    const server = await serve({ config: PEOPLE })
    await server.save('publish', PUBLISH)
    await server.start('publish', { inputs: { input: 'notes' }, id: 'notes' })
    const eve = await visitAs(visit, server, 'eve', 'viewer')
    await eve.open('/')
    await eve.sees('Recent runs')
    await eve.page.getByRole('link', { name: 'notes' }).first().waitFor()
    expect(await eve.page.getByRole('button', { name: 'Start run' }).count()).toBe(0)
    expect(await eve.page.getByRole('link', { name: 'New workflow' }).count()).toBe(0)
    await eve.open('/workflows')
    await eve.sees('publish')
    expect(await eve.page.getByRole('button', { name: 'New workflow' }).count()).toBe(0)
    expect(await eve.page.getByRole('button', { name: 'Run publish' }).count()).toBe(0)
    await eve.open('/approvals?show=all')
    await eve.sees('Publish small notes?')
    expect(await eve.page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await eve.open('/settings/tokens')
    await eve.sees('Only admins can see tokens')
    expect(await eve.page.getByRole('navigation', { name: 'Settings' }).getByRole('link').allTextContents()).toEqual(['People'])
  })

  test('an approver votes but does not start runs', async ({ serve, visit }) => {
    const server = await serve({ config: PEOPLE })
    await server.save('publish', PUBLISH)
    await server.start('publish', { inputs: { input: 'notes' }, id: 'notes' })
    const eve = await visitAs(visit, server, 'eve', 'approver')
    await eve.open('/approvals')
    await eve.page.getByRole('button', { name: 'Approve' }).waitFor()
    await eve.page.keyboard.press('Control+k')
    await eve.page.getByRole('option', { name: /Answer ask in notes/ }).waitFor()
    expect(await eve.page.getByRole('option', { name: /Run publish/ }).count()).toBe(0)
  })

  test('an admin creates a token, which is shown once, and revokes it', async ({ serve, visit }) => {
    const server = await serve({ config: PEOPLE })
    const ada = await visit(server)
    await ada.open('/settings/tokens')
    await ada.page.getByRole('button', { name: 'Create token' }).click()
    const dialog = ada.page.getByRole('dialog')
    await dialog.getByLabel('User').fill('ci')
    await dialog.getByLabel(/Workflows/).fill('support-*')
    await dialog.getByRole('button', { name: 'Create token' }).click()
    const secret = (await dialog.locator('[data-secret-once]').textContent()) ?? ''
    const asCi = { authorization: `Bearer ${secret}` }
    expect((await server.api<{ user: string }>('GET', '/me', undefined, asCi)).user).toBe('ci')
    await dialog.getByRole('button', { name: 'Done' }).click()
    await ada.page.getByRole('row').filter({ hasText: 'ci' }).getByText('support-*').waitFor()
    expect(await ada.page.content()).not.toContain(secret)
    await ada.page.getByRole('row').filter({ hasText: 'ci' }).getByRole('button', { name: 'Revoke' }).click()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await ada.sees('No tokens yet')
    await expect(server.api('GET', '/me', undefined, asCi)).rejects.toThrow('401')
  })
})

test('every section of the settings opens without accessibility findings', async ({ serve, visit }) => {
  const server = await serve({ config: PEOPLE })
  const ada = await visit(server)
  await ada.open('/settings/people')
  for (const section of await ada.page.getByRole('navigation', { name: 'Settings' }).getByRole('link').all()) {
    await section.click()
    await ada.page.locator('.settings-part').first().waitFor()
    expect(await ada.accessibilityFindings()).toEqual([])
  }
  await ada.open('/settings/doctor')
  await ada.sees('Everything is in order.')
  await ada.sees(/The store is intact/)
})
