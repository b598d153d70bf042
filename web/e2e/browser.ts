import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Server } from './server.ts'

export interface Look {
  dark?: boolean
  /** 390 px wide, with touch. */
  phone?: boolean
  /** A token, sent with every request, for servers that require it. */
  token?: string
  reducedMotion?: boolean
  /** The address of a sign-in provider, to which the person may go. What its pages load is not loaded. */
  provider?: string
}

const PHONE = { width: 390, height: 844 }
const DESKTOP = { width: 1440, height: 900 }

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking'],
  })
}

/** A person at a browser: a context of their own, and what went wrong in it. */
export class Visitor {
  /** Errors of the page's scripts, and messages about its security policy. */
  readonly mistakes: string[] = []
  /** Requests that did not go to the server. */
  readonly foreign: string[] = []

  private constructor(readonly context: BrowserContext, readonly page: Page, private readonly server: Server) {}

  static async arrive(browser: Browser, server: Server, look: Look = {}): Promise<Visitor> {
    const context = await browser.newContext({
      viewport: look.phone ? PHONE : DESKTOP,
      hasTouch: look.phone,
      isMobile: look.phone,
      colorScheme: look.dark ? 'dark' : 'light',
      reducedMotion: look.reducedMotion === false ? 'no-preference' : 'reduce',
      timezoneId: 'UTC',
      locale: 'en-US',
      extraHTTPHeaders: look.token ? { authorization: `Bearer ${look.token}` } : {},
    })
    context.setDefaultTimeout(20_000)
    const page = await context.newPage()
    const visitor = new Visitor(context, page, server)
    page.on('pageerror', (error) => visitor.mistakes.push(error.stack || String(error)))
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) visitor.mistakes.push(message.text())
    })
    context.on('request', (request) => {
      const url = request.url()
      if (!/^https?:/.test(url) || new URL(url).origin === new URL(server.url).origin) return
      const isOfProvider = look.provider !== undefined && (url.startsWith(look.provider) || request.frame().url().startsWith(look.provider))
      if (!isOfProvider) visitor.foreign.push(url)
    })
    if (look.provider !== undefined) await context.route(/^https:/, (route) => route.abort())
    return visitor
  }

  /** Opens an address of the page, such as `/runs`, and waits until its main part is there. */
  async open(path: string): Promise<Page> {
    await this.page.goto(this.server.url + path)
    await this.page.locator('#main').waitFor()
    return this.page
  }

  /** Waits until a text can be seen. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).locator('visible=true').first().waitFor()
  }

  /** Waits until nothing of this text can be seen any more. */
  async losesSightOf(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).locator('visible=true').first().waitFor({ state: 'hidden' })
  }

  /** Waits until nothing of the page loads any more: no skeleton is left, nothing says that it is busy, and graphs are laid out. */
  async settles(): Promise<void> {
    await this.page.waitForFunction(() => {
      const isDrawn = [...document.querySelectorAll('.canvas')].every((canvas) => canvas.querySelector('.canvas-flow[data-ready="true"], [role="alert"]'))
      return isDrawn && document.fonts.status === 'loaded' && !document.querySelector('[aria-busy="true"], .sk') && document.querySelector('#main')?.textContent?.trim()
    })
  }

  /** What axe-core finds on the page, in a form that a failed assertion shows well. */
  async accessibilityFindings(): Promise<string[]> {
    await this.settles()
    await this.page.evaluate(AXE_SOURCE)
    return this.page.evaluate(async () => {
      const { axe } = window as unknown as { axe: typeof import('axe-core') }
      const result = await axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        // Experimental in axe-core: it takes commas and hidden units of a name for a difference to the visible text.
        rules: { 'label-content-name-mismatch': { enabled: false } },
      })
      // The squares of a loop's frame are small, and the step tree has the same choices in rows (WCAG 2.5.8, equivalent control).
      const isSquare = (node: { target: unknown[] }) => document.querySelector(String(node.target[0]))?.closest('.iter')
      return result.violations.flatMap((violation) => violation.nodes.filter((node) => violation.id !== 'target-size' || !isSquare(node)).map((node) => `${violation.id}: ${violation.help}: ${node.html.slice(0, 160)}`))
    })
  }

  /** Saves what can be seen now, for people who look at a failed test. */
  async picture(name: string): Promise<void> {
    mkdirSync(PICTURES, { recursive: true })
    await this.page.screenshot({ path: `${PICTURES}/${name.replace(/[^\w-]+/g, '-')}.png` })
  }

  async leave(): Promise<void> {
    await this.context.close()
  }
}

const PICTURES = fileURLToPath(new URL('../test-results', import.meta.url))
import { readFileSync } from 'node:fs'
const AXE_SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
