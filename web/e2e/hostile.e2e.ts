import { PEOPLE } from './people.ts'
import { expect, test } from './test.ts'

const SCRIPT = '<img src=x onerror="document.title=\'taken over\'"><script>document.title="taken over"</script>'
const LINKS = '[a](javascript:document.title="x") [b](//evil.example/b) [c](https://evil.example/c) ![d](https://evil.example/d.png)'

const HOSTILE = `
name: hostile
steps:
  - id: ask
    step_type: human_in_the_loop
    prompt_template: "Read {{input}}?\\n\\n{{metadata.links}} {{input}}"
    choices: ["<b onclick=alert(1)>yes</b>", "no"]
    recipient_distribution: selected_members
    recipient_user_ids: [ada, "<i>bob</i>"]
    required_approvals: 2
    show: {html: "{{input}}", links: "{{metadata.links}}"}
`

test('what models and users write is shown as text, loads nothing and executes nothing', async ({ serve, visit }) => {
  const server = await serve({ config: PEOPLE })
  await server.save('hostile', HOSTILE)
  await server.start('hostile', { inputs: { input: SCRIPT, metadata: { links: LINKS } }, id: 'hostile-1' })
  await server.api('POST', '/approvals/hostile-1/1/vote', { choice: 'no', comment: SCRIPT }).catch(() => undefined)
  const ada = await visit(server)
  for (const path of ['/', '/approvals?show=all', '/runs']) {
    await ada.open(path)
    await ada.sees(/hostile/)
    await ada.sees('Live')
    expect(await ada.page.locator('img, iframe, object, script:not([src])').count()).toBe(0)
    expect(await ada.page.title()).not.toBe('taken over')
    const links = await ada.page.locator('a').evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href))
    for (const link of links) expect(link).toMatch(/^(https?:\/\/|mailto:)/)
  }
  await ada.open('/approvals?show=all')
  await ada.sees('<b onclick=alert(1)>yes</b>')
  await ada.page.locator('.markdown').getByText('(evil.example)').first().waitFor()
  const outside = ada.page.locator('a[href^="https://evil.example"]').first()
  expect(await outside.getAttribute('rel')).toContain('noopener')
})
