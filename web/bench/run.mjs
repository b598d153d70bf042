// Measures the run page with 10,000 steps and with a graph of 1,000 nodes: npm run bench
// Needs a program with the page embedded (BRANCHPOINT_BIN, or the debug build) and Chromium. The figures are printed, nothing is asserted.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { largeGraph, manyItems } from './documents.mjs'
import { framesOf } from './frames.mjs'

const ITEMS = Number(process.env.ITEMS ?? 10_000)
const NODES = Number(process.env.NODES ?? 1_000)
/** Pixels in a second: a fast flick of a finger. */
const SPEED = 4_000

const program = process.env.BRANCHPOINT_BIN ?? fileURLToPath(new URL('../../target/debug/branchpoint', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'branchpoint-bench-'))
const server = spawn(program, ['serve', '--listen', '127.0.0.1:0', '--store', join(folder, 'runs.db')], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
const address = await new Promise((resolve, reject) => {
  let output = ''
  server.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
    const found = /Serving (http:\S+)/.exec(output)
    if (found) resolve(found[1])
  })
  server.on('exit', (code) => reject(new Error(`the server has ended with ${code}: ${output}`)))
})
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] })
try {
  await prepare()
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' })).newPage()
  const rows = [['a page with one moving square, for comparison', await baseline(page)]]
  rows.push(['a trace of 10,000 steps opens (rows in view)', `${await opening(page, '/runs/items?view=timeline', '.tree [role="treeitem"] .name')} ms`])
  rows.push(['the same again, with the page in the browser\'s cache', `${await opening(page, '/runs/items?view=timeline', '.tree [role="treeitem"] .name')} ms`])
  await openRounds(page)
  rows.push(['scrolling its timeline', await frames(page, '.tree', [0, 6_000])])
  await page.goto(`${address}/runs/items`)
  await page.locator('.tree [role="treeitem"] .name').first().waitFor()
  await openRounds(page)
  rows.push(['scrolling its step tree', await frames(page, '.tree', [0, 6_000])])
  rows.push([`a graph of ${NODES} nodes opens, laid out`, `${await opening(page, '/runs/graph', '.canvas-flow[data-ready="true"] .node')} ms`])
  rows.push(['the same again, with its layout in the cache', `${await opening(page, '/runs/graph', '.canvas-flow[data-ready="true"] .node')} ms`])
  rows.push(['panning at 100%', await frames(page, '.react-flow__pane', [500, 6_000])])
  await page.locator('.canvas').getByRole('button', { name: 'Fit to view' }).click()
  await page.waitForTimeout(800)
  rows.push(['panning, the whole graph in view', await frames(page, '.react-flow__pane', [500, 2_000])])
  console.log(`${cpus().length} processors, load ${loadavg()[0].toFixed(1)}, ${await browser.version()}`)
  for (const [what, figure] of rows) console.log(`${what.padEnd(60)} ${figure}`)
} finally {
  await browser.close()
  server.kill('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
}

async function prepare() {
  await api('/workflows', { name: 'items', text: manyItems() })
  await api('/workflows', { name: 'graph', text: largeGraph(NODES) })
  const list = Array.from({ length: ITEMS }, (_, n) => `item ${n}`)
  await api('/runs', { workflow: 'items', id: 'items', inputs: { input: 'x' }, script: { list: [{ $output: list }] } })
  await api('/runs', { workflow: 'graph', id: 'graph', inputs: { input: 'b' } })
  for (const id of ['items', 'graph']) {
    for (let run = await api(`/runs/${id}`); run.status === 'running'; run = await api(`/runs/${id}`)) await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

async function api(path, body) {
  const response = await fetch(`${address}/api/v1${path}`, body ? { method: 'POST', headers: { 'content-type': 'application/json', 'x-branchpoint': '1' }, body: JSON.stringify(body) } : {})
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

/** What this machine can draw at the moment. */
async function baseline(page) {
  await page.setContent('<div style="height:100vh"><i style="position:absolute;width:100px;height:100px;background:red"></i></div>')
  await page.evaluate(() => {
    const square = document.querySelector('i')
    const move = (at) => {
      square.style.transform = `translateX(${at % 500}px)`
      requestAnimationFrame(move)
    }
    requestAnimationFrame(move)
  })
  return framesOf(await page.context().newCDPSession(page), () => page.waitForTimeout(3_000))
}

/** Milliseconds from the navigation until something is drawn. */
async function opening(page, path, selector) {
  await page.goto('about:blank')
  await page.goto(address + path, { waitUntil: 'commit' })
  await page.locator(selector).first().waitFor()
  return page.evaluate(() => Math.round(performance.now()))
}

/** Opens the rounds of the loop, so that there is something to scroll. */
async function openRounds(page) {
  const tree = page.getByRole('treeitem')
  const loop = page.locator('.tree [role="treeitem"]').filter({ hasText: /^rows/ }).first()
  await loop.waitFor()
  if ((await loop.getAttribute('aria-expanded')) === 'false') await loop.locator('.fold').click()
  // Many rounds are grouped by their status, and a group is closed at first.
  const group = tree.filter({ hasText: /^[\d,]+ completed/ }).first()
  await group.waitFor()
  if ((await group.getAttribute('aria-expanded')) === 'false') await group.locator('.fold').click()
  await tree.filter({ hasText: /^\[20\]/ }).waitFor()
}

/** Frames in a second while an element is scrolled down and up, from Chromium's trace. The browser itself generates the wheel's events. */
async function frames(page, selector, [x, y]) {
  const box = await page.locator(selector).first().boundingBox()
  const at = { x: Math.round(box.x + box.width / 2), y: Math.round(box.y + box.height / 2), gestureSourceType: 'mouse', speed: SPEED, preventFling: true }
  const tracing = await page.context().newCDPSession(page)
  return framesOf(tracing, async () => {
    for (const direction of [-1, 1]) await tracing.send('Input.synthesizeScrollGesture', { ...at, xDistance: x * direction, yDistance: y * direction })
  })
}
