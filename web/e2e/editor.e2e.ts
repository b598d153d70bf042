import type { Page } from 'playwright-core'
import { expect, test } from './test.ts'
import type { Server } from './server.ts'

const GRAPH = `{
  "nodes": [
    {"id": "start", "type": "start", "data": {"initialInput": "the autumn release"}},
    {"id": "writer", "type": "agent", "data": {"agentName": "Writer", "systemPrompt": "You write announcements.", "userPrompt": "Write about {{PREVIOUS_OUTPUT}}."}}
  ],
  "connections": [
    {"source": "start", "target": "writer", "sourceHandle": "output", "targetHandle": "input"}
  ]
}
`

const STEPS = `# Who changes this must ask the billing team.
name: replies
steps:
  # The draft is written by a model.
  - id: draft
    step_type: text
    template: "Hello, {{input}}"   # short on purpose
  - id: tier
    step_type: conditional
    if: len(input) > 10   # long names
    then:
      - id: long
        step_type: text
        template: "long"
    else:
      - id: short
        step_type: text
        template: "short"
  # What people see at the end.
  - id: show
    step_type: display_result
`

const node = (page: Page, id: string) => page.locator(`.react-flow__node[data-id="${id}"]`)
const problems = (page: Page) => page.getByRole('status').filter({ hasText: 'Show' })
const textOf = async (server: Server, name: string) => (await server.api<{ text: string }>('GET', `/workflows/${name}`)).text

test('a person authors a graph, sees a preflight problem, fixes it, and runs it', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('announcements', GRAPH)
  const ada = await visit(server)
  const page = await ada.open('/workflows/announcements')
  await node(page, 'writer').click()
  await page.getByRole('button', { name: /^Add approval/ }).click()
  await node(page, 'approval').waitFor()
  await problems(page).getByText('approval').first().waitFor()
  // A run is not started while the graph has a problem: the bar with the problem gets the focus.
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.waitForFunction(() => document.activeElement?.id === 'preflight')

  await node(page, 'approval').click()
  await page.keyboard.press('Tab')
  await page.getByRole('combobox', { name: 'Add a step' }).fill('agent')
  await page.keyboard.press('Enter')
  await node(page, 'agent').waitFor()
  await problems(page).waitFor({ state: 'hidden' })

  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByRole('dialog').getByText('version 2').waitFor()
  await page.getByRole('button', { name: 'Answer calls from a script' }).click()
  await page.getByLabel(/^Script/).fill('agents: {writer: ["The autumn release is here."], agent: ["Published."]}')
  await page.getByRole('dialog').getByRole('button', { name: /^Run/ }).click()
  await page.waitForURL(/\/runs\//)
  await ada.sees('Waiting for approval')
  expect(await textOf(server, 'announcements')).toContain('"approval"')
})

test('a step is added, moved and deleted on the canvas, and the comments of the source stay', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('replies', STEPS)
  const ada = await visit(server)
  const page = await ada.open('/workflows/replies')
  await node(page, 'draft').click()
  await page.getByRole('button', { name: 'Add step' }).click()
  await page.getByRole('combobox', { name: 'Add a step' }).fill('wait')
  await page.keyboard.press('Enter')
  await node(page, 'wait').waitFor()
  await page.locator('.cm-content').getByText('step_type: wait').waitFor()

  await node(page, 'wait').focus()
  await page.keyboard.press('m')
  await page.getByRole('combobox', { name: /^Move wait/ }).fill('tier else')
  await page.keyboard.press('Enter')
  await page.getByText('Edited').first().waitFor()
  await page.getByRole('button', { name: 'Undo: move wait' }).waitFor()

  await node(page, 'draft').focus()
  await page.keyboard.press('Delete')
  await node(page, 'draft').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Undo: delete draft' }).click()
  await node(page, 'draft').waitFor()

  await page.getByRole('button', { name: /^Save version 2/ }).click()
  await page.getByRole('button', { name: 'Version: Version 2' }).waitFor()
  const saved = await textOf(server, 'replies')
  for (const comment of ['# Who changes this must ask the billing team.', '# The draft is written by a model.', '# short on purpose', '# long names', '# What people see at the end.']) {
    expect(saved).toContain(comment)
  }
  expect(saved.indexOf('step_type: wait')).toBeGreaterThan(saved.indexOf('else:'))
  expect(saved.replace(/\n\s*- id: wait[\s\S]*?(?=\n {2}# What people)/, '')).toBe(STEPS)
})

test('a save over a newer version is a conflict, and nothing is lost', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('replies', STEPS)
  const ada = await visit(server)
  const page = await ada.open('/workflows/replies?pane=source')
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('# Mine.')
  await page.getByText('draft saved in this browser').waitFor()
  await server.api('PUT', '/workflows/replies', { text: `${STEPS}# Theirs.\n`, base_version: 1 })
  await page.getByRole('button', { name: /^Save version/ }).click()
  const conflict = page.getByRole('alert').filter({ hasText: 'Version 2 was saved' })
  await conflict.getByText('Your draft is based on version 1. It’s still saved in this browser.').waitFor()

  // The comparison shows both texts, and the draft survives the way there and back.
  await conflict.getByRole('button', { name: 'Compare with version 2' }).click()
  await ada.sees('Changes from version 2 to your draft')
  await ada.sees('# Theirs.')
  await page.goBack()
  await page.locator('.cm-content').getByText('# Mine.').waitFor()
  await page.getByRole('button', { name: /^Save version/ }).click()
  await page.getByRole('button', { name: 'Save mine as version 3' }).click()
  await page.getByRole('button', { name: 'Version: Version 3' }).waitFor()
  expect(await textOf(server, 'replies')).toBe(`${STEPS}# Mine.`)
})

test('running right after an edit waits for the check, and runs what was written', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('replies', STEPS)
  const ada = await visit(server)
  const page = await ada.open('/workflows/replies?pane=source')
  await page.locator('.cm-content').click()
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/api/v1/check', async (route) => {
    await held
    await route.continue()
  })
  await page.keyboard.press('Control+End')
  await page.keyboard.type('# Mine.')
  await page.getByRole('button', { name: 'Save and run' }).click()
  release()
  await page.getByRole('dialog').getByText('version 2').waitFor()
  expect(await textOf(server, 'replies')).toBe(`${STEPS}# Mine.`)
})

test('a draft survives a reload, and its errors are shown in the list', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('replies', STEPS)
  const ada = await visit(server)
  const page = await ada.open('/workflows/replies?pane=source')
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('  - id: broken\n')
  await page.getByRole('listitem').filter({ hasText: 'step_type' }).first().waitFor()
  expect(await page.getByRole('button', { name: /^Save version 2/ }).isDisabled()).toBe(true)
  await page.getByText('draft saved in this browser').waitFor()
  await page.reload()
  await page.locator('.cm-content').getByText('id: broken').waitFor()
  // A text that cannot be read is not drawn: the canvas keeps the last version that can be.
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('  - {')
  await page.getByRole('button', { name: 'Both' }).click()
  await ada.sees('Last valid version')
  await node(page, 'tier').waitFor()
  await page.keyboard.press('Control+z')
  await page.getByRole('listitem').filter({ hasText: 'step_type' }).first().waitFor()
  await page.getByRole('navigation', { name: 'Main' }).getByText('Workflows').click()
  await ada.sees(/draft has \d errors?/)
})

test('a step is added, connected and deleted with the keyboard alone', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('announcements', GRAPH)
  const ada = await visit(server)
  const page = await ada.open('/workflows/announcements')
  await node(page, 'writer').waitFor()
  await page.keyboard.press('Tab')
  for (let presses = 0; presses < 60; presses++) {
    if (await node(page, 'writer').evaluate((element) => element === document.activeElement)) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.activeElement?.tagName === 'H2')
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => document.activeElement?.closest('.react-flow__node')?.getAttribute('data-id') === 'writer')

  await page.keyboard.press('3')
  await node(page, 'approval').waitFor()
  await page.waitForFunction(() => document.activeElement?.closest('.react-flow__node')?.getAttribute('data-id') === 'approval')
  await page.keyboard.press('c')
  await page.getByRole('combobox', { name: /^Connect approve of approval/ }).fill('Writer')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Undo: connect approval to writer' }).waitFor()
  await problems(page).waitFor({ state: 'hidden' })

  await node(page, 'approval').focus()
  await page.keyboard.press('Delete')
  await node(page, 'approval').waitFor({ state: 'detached' })
  await page.keyboard.press('Control+z')
  await node(page, 'approval').waitFor()
  await page.keyboard.press('Control+s')
  await page.getByRole('button', { name: 'Version: Version 2' }).waitFor()
  expect(JSON.parse(await textOf(server, 'announcements'))).toMatchObject({ connections: expect.arrayContaining([expect.objectContaining({ source: 'approval', target: 'writer' })]) })
})

test('a dropped file is shown with its problems before it is saved', async ({ serve, visit }) => {
  const server = await serve()
  const ada = await visit(server)
  const page = await ada.open('/workflows')
  await page.evaluate((text) => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([text], 'replies.yaml', { type: 'application/yaml' }))
    window.dispatchEvent(new DragEvent('dragover', { dataTransfer: transfer, bubbles: true, cancelable: true }))
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }))
  }, STEPS.replace('step_type: display_result', 'step_type: display_resultt'))
  const dialog = page.getByRole('dialog', { name: 'New workflow' })
  await dialog.getByText('1 error').waitFor()
  expect(await dialog.getByRole('button', { name: /^Create/ }).isDisabled()).toBe(true)
  await dialog.getByRole('button', { name: 'Use display_result' }).click()
  await dialog.getByText('No problems').waitFor()
  await dialog.getByRole('button', { name: 'Create replies' }).click()
  await page.waitForURL(/\/workflows\/replies$/)
  await node(page, 'show').waitFor()
  expect(await textOf(server, 'replies')).toBe(STEPS)
})

test('the editor and the dialogs have no accessibility findings', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('announcements', GRAPH)
  await server.save('replies', STEPS)
  const ada = await visit(server)
  for (const path of ['/workflows', '/workflows?new=template', '/workflows/replies', '/workflows/announcements?step=writer', '/workflows/replies/versions', '/workflows/replies/runs', '/workflows/replies?run=replies']) {
    await ada.open(path)
    expect(await ada.accessibilityFindings(), path).toEqual([])
  }
})

test('a step is dragged onto a line, and a deletion lists who refers to the step', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('replies', STEPS.replace('template: "long"', 'template: "{{step.draft.output}}"'))
  const ada = await visit(server)
  const page = await ada.open('/workflows/replies?pane=canvas')
  await node(page, 'short').waitFor()
  const [from, above, below] = await Promise.all(['short', 'draft', 'tier'].map((id) => node(page, id).boundingBox()))
  if (!from || !above || !below) throw new Error('the steps are not drawn')
  await page.mouse.move(from.x + 50, from.y + 15)
  await page.mouse.down()
  await page.mouse.move(above.x + above.width / 2 + 4, (above.y + above.height + below.y) / 2, { steps: 12 })
  await page.mouse.up()
  await page.getByRole('button', { name: 'Undo: move short' }).waitFor()

  await node(page, 'draft').focus()
  await page.keyboard.press('Delete')
  const dialog = page.getByRole('dialog', { name: 'Delete draft' })
  await dialog.getByText('reads draft').waitFor()
  await dialog.getByRole('button', { name: 'Keep draft' }).click()
  await node(page, 'draft').waitFor()
  await page.keyboard.press('Control+s')
  await page.getByRole('button', { name: 'Version: Version 2' }).waitFor()
  const saved = await textOf(server, 'replies')
  expect(saved.indexOf('id: short')).toBeLessThan(saved.indexOf('id: tier'))
  expect(saved).toContain('# The draft is written by a model.')
})

test('conditions are edited as rows and tried before anything runs', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('routing', GRAPH.replace('"connections": [', '"connections": [\n    {"source": "writer", "target": "route"},').replace('  ],\n  "conn', `,
    {"id": "route", "type": "if", "data": {"conditions": [{"operator": "equal", "value": "billing"}, {"operator": "contains", "value": "bug"}]}}
  ],\n  "conn`))
  const ada = await visit(server)
  const page = await ada.open('/workflows/routing?step=route')
  await page.getByLabel('Previous output').fill('A bug in the export')
  const results = page.locator('.tryout')
  await results.getByText('which contains').waitFor()
  expect(await results.innerText()).toMatch(/false\s+condition-0[\s\S]*true\s+condition-1/)
  await page.getByRole('button', { name: /^Reorder condition-0/ }).press('Alt+ArrowDown')
  await page.getByRole('button', { name: 'Undo: reorder route' }).waitFor()
  await page.getByLabel('Value of condition-1').fill('invoice')
  await page.getByLabel('Value of condition-1').press('Enter')
  await node(page, 'route').getByText('"invoice"').waitFor()
  await results.getByText('not evaluated').waitFor()
})

test('hostile texts in a document are shown as text', async ({ serve, visit }) => {
  const hostile = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
  const server = await serve()
  const quoted = JSON.stringify(hostile)
  await server.save('hostile', `name: hostile\ndescription: ${quoted}\ninputs:\n  - {name: input, type: text, description: ${quoted}, default: ${quoted}}\nsteps:\n  - id: a\n    name: ${quoted}\n    step_type: text\n    template: ${quoted}\n`)
  const ada = await visit(server)
  const page = await ada.open('/workflows')
  await ada.sees(hostile)
  await ada.open('/workflows/hostile?step=a&pane=canvas')
  await node(page, 'a').waitFor()
  await ada.open('/workflows/hostile?pane=source')
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type(`  - {id: b, step_type: text, template: x, ${quoted}: 1}\n`)
  await page.getByRole('list', { name: 'List of problems' }).getByText('onerror').first().waitFor()
  await page.getByText('draft saved in this browser').waitFor()
  await ada.open('/workflows/hostile/versions?from=1&to=draft&as=text')
  await ada.sees('Changes from version 1 to your draft')
  await ada.open('/workflows/hostile?run=hostile')
  await page.getByRole('dialog').getByText(hostile).waitFor()
  expect(await page.title()).not.toBe('1')
  expect(await page.locator('img[src="x"]').count()).toBe(0)
})

test('a phone shows the workflow and does not edit it', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('replies', STEPS)
  const ada = await visit(server, { phone: true, dark: true })
  const page = await ada.open('/workflows/replies')
  await node(page, 'tier').waitFor()
  await ada.sees('Editing needs a wider window')
  await page.getByRole('button', { name: 'Source' }).click()
  await ada.sees('Read-only')
  expect(await page.locator('.cm-content').getAttribute('contenteditable')).toBe('false')
  expect(await page.getByRole('button', { name: /^Save version/ }).count()).toBe(0)
  expect(await ada.accessibilityFindings()).toEqual([])
})

test('people who may only read see the workflow without the actions of others', async ({ serve, visit }) => {
  const server = await serve()
  await server.save('replies', STEPS)
  const eve = await visit(server)
  await eve.page.route('**/api/v1/me', async (route) => {
    const me = (await (await route.fetch()).json()) as { can: Record<string, boolean> }
    await route.fulfill({ json: { ...me, can: { ...me.can, try: false, edit: false, operate: false } } })
  })
  await eve.page.route(/\/api\/v1\/(check|drawing|edit|palette)/, (route) => route.fulfill({ status: 403, json: { title: 'Not allowed', status: 403, kind: 'forbidden', detail: 'Your role does not allow this.' } }))
  const page = await eve.open('/workflows/replies')
  await node(page, 'tier').waitFor()
  await page.locator('.cm-content').getByText('# long names').waitFor()
  expect(await page.locator('.cm-content').getAttribute('contenteditable')).toBe('false')
  for (const name of [/^Save version/, /^Run$/, 'Format', 'Add step']) expect(await page.getByRole('button', { name }).count(), String(name)).toBe(0)
})
