import { ModelServer } from './model.ts'
import { expect, test } from './test.ts'

const AGENT = JSON.stringify({
  version: '1.0', agentId: 'helper', name: 'Helper', description: 'Helps.', personality: ['You help.'], nodes: ['llm.openai', 'search'],
  nodeConfigurations: { 'llm.openai': { model: 'test' } }, chatSettings: { historyPolicy: 'all', initialMessages: ['How can I help?'], chatPrompts: ['Compare two databases'] },
  orchestration: { defaultStep: 'talk', steps: [{ name: 'urgent', conditions: [{ type: 'message_contains', value: 'urgent' }] }, { name: 'talk' }] },
})

test('a reply streams while the model writes it, and is there after a reload', async ({ serve, visit }) => {
  const model = await ModelServer.start()
  try {
    const server = await serve({ config: model.config })
    await server.save('helper', AGENT)
    const visitor = await visit(server)
    const page = await visitor.open('/chat/helper/c1')
    await visitor.sees('How can I help?')
    model.reply('Tides follow the moon **closely** and rise twice a day.')
    model.hold()
    await page.getByLabel('Message').fill('What are tides?')
    await page.keyboard.press('Enter')
    await page.locator('.by-user', { hasText: 'What are tides?' }).waitFor()
    model.reply('Again.')
    await page.locator('.by-agent', { hasText: 'Tides follow' }).waitFor()
    expect(await page.locator('.by-agent', { hasText: 'twice a day' }).count()).toBe(0)
    model.release()
    await page.locator('.by-agent', { hasText: 'twice a day' }).waitFor()
    // Markdown is rendered once the reply is complete.
    await page.locator('.by-agent strong', { hasText: 'closely' }).waitFor()
    await page.reload()
    await page.locator('.by-agent strong', { hasText: 'closely' }).waitFor()
    await page.getByLabel('Message').fill('This is urgent')
    await page.keyboard.press('Enter')
    await page.locator('.chat-step', { hasText: 'urgent' }).waitFor()
    await page.locator('.by-agent', { hasText: 'Again.' }).waitFor()
    expect(model.requests).toHaveLength(2)
  } finally {
    await model.stop()
  }
})

test('what a model writes cannot run scripts, load images or hide where its links lead', async ({ serve, visit }) => {
  const model = await ModelServer.start()
  try {
    const server = await serve({ config: model.config })
    await server.save('helper', AGENT)
    const visitor = await visit(server)
    const page = await visitor.open('/chat/helper/c1')
    model.reply('<script>window.wasHarmed = 1</script> <img src=x onerror="window.wasHarmed = 1"> ![x](https://evil.example/x.png) [bank](https://evil.example/login) [run](javascript:window.wasHarmed=1)')
    await page.getByLabel('Message').fill('hello')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.by-agent').getByText('(evil.example)').first().waitFor()
    expect(await page.locator('.by-agent img, .by-agent script').count()).toBe(0)
    expect(await page.locator('.by-agent a[href^="javascript"]').count()).toBe(0)
    expect(await page.evaluate(() => 'wasHarmed' in window)).toBe(false)
    expect(visitor.foreign).toEqual([])
  } finally {
    await model.stop()
  }
})

test('a turn that fails says why', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('helper', AGENT)
  const visitor = await visit(server)
  const page = await visitor.open('/chat/helper/c1')
  await page.getByRole('button', { name: 'Compare two databases' }).click()
  await visitor.sees(/The provider openai needs a key/)
})
