/** The path below which the server serves the page, such as `/branchpoint`; empty for the root. Also known to the worker, which has no document. */
export const BASE_PATH: string = typeof document === 'undefined' ? ofWorker() : (meta('base-path') ?? '')

/** The nonce that styles of this page must carry. */
export const STYLE_NONCE: string | undefined = typeof document === 'undefined' ? undefined : nonce()

function meta(name: string): string | null {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? null
}

function nonce(): string | undefined {
  return document.querySelector<HTMLElement>('meta[property="csp-nonce"]')?.nonce || undefined
}

/** Built workers are at `{base path}/assets/…`. */
function ofWorker(): string {
  if (import.meta.env?.DEV) return ''
  return self.location.pathname.replace(/\/assets\/[^/]*$/, '')
}
