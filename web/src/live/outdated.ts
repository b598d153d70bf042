import { BASE_PATH } from '../api/base.ts'
import { setConnection } from '../ui/online.ts'

/** The entry script in a document: its name changes with every build. */
export function entryScript(html: string): string | null {
  return /<script[^>]+src="([^"]*\/assets\/index-[^"]+\.js)"/.exec(html)?.[1] ?? null
}

/** After a reconnect, the server may be a newer build than this tab. It is offered, never loaded by itself. */
export async function compareBuilds(): Promise<void> {
  const own = document.querySelector('script[src*="/assets/index-"]')?.getAttribute('src') ?? null
  if (own === null) return
  try {
    const response = await fetch(`${BASE_PATH}/`, { headers: { accept: 'text/html' } })
    const current = response.ok ? entryScript(await response.text()) : null
    if (current !== null && current !== own) setConnection({ outdated: true })
  } catch {
    // The connection is gone again; the next reconnect compares.
  }
}

/** A part of the page that is loaded later is missing: its build is gone from the server. */
export function watchMissingParts(): void {
  window.addEventListener('vite:preloadError', () => setConnection({ outdated: true }))
}
