// Takes screenshots: node dev/shot.mjs OUT_DIR name=/path[@phone|@dark] …
import { chromium } from 'playwright-core'

const base = process.env.BASE ?? 'http://127.0.0.1:5180'
const [out, ...pages] = process.argv.slice(2)
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] })
for (const page of pages) {
  const at = page.indexOf('=')
  const [path, ...flags] = page.slice(at + 1).split('@@')
  const phone = flags.includes('phone')
  const context = await browser.newContext({
    viewport: phone ? { width: 390, height: 844 } : { width: 1440, height: 900 }, deviceScaleFactor: 1, timezoneId: 'UTC',
    colorScheme: flags.includes('dark') ? 'dark' : 'light', hasTouch: phone, reducedMotion: 'reduce',
  })
  const tab = await context.newPage()
  tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && console.log(page, message.type(), message.text().slice(0, 600)))
  tab.on('pageerror', (error) => console.log(page, 'pageerror', String(error.stack).slice(0, 800)))
  await tab.goto(base + path)
  await tab.waitForTimeout(Number(process.env.WAIT ?? 1800))
  await tab.screenshot({ path: `${out}/${page.slice(0, at)}.png` })
  await context.close()
}
await browser.close()
