// Runs the browser tests: node e2e/run.mjs [FILTER], writes screenshots: node e2e/run.mjs --screens, or checks all pages with Lighthouse:
// node e2e/run.mjs --lighthouse. Without Chromium it says so and passes; with CI=true it fails.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome']

function find() {
  return [process.env.CHROMIUM, ...PLACES].find((place) => place && existsSync(place)) ?? null
}

function install() {
  if (process.platform !== 'linux' || process.getuid() !== 0 || !existsSync('/usr/bin/apt-get')) return
  console.log('Chromium is missing; installing it: apt-get install chromium')
  try {
    execFileSync('apt-get', ['update', '-qq'], { stdio: 'inherit' })
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], { stdio: 'inherit' })
  } catch {
    console.error('Chromium could not be installed.')
  }
}

if (!find()) install()
const chromium = find()
if (!chromium) {
  console.error('\n*** BROWSER TESTS SKIPPED: there is no Chromium. Install it (apt-get install chromium), or set CHROMIUM to its path. ***\n')
  process.exit(process.env.CI === 'true' ? 1 : 0)
}
const [first, ...others] = process.argv.slice(2)
const other = ['--screens', '--lighthouse'].includes(first) ? first.slice(2) : null
const words = ['vitest', 'run', '--config', `e2e/${other ?? 'vitest'}.config.ts`, ...(other ? others : process.argv.slice(2))]
const { status } = spawnSync('npx', words, { cwd: fileURLToPath(new URL('..', import.meta.url)), stdio: 'inherit', env: { ...process.env, CHROMIUM: chromium } })
process.exit(status ?? 1)
