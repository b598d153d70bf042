import { noteResponseDate } from '../ui/clock.ts'
import { BASE_PATH } from './base.ts'
import type { Diagnostic } from './types.ts'

export const API = `${BASE_PATH}/api/v1`

/** A failed request, with the server's explanation (`application/problem+json`). */
export class Problem extends Error {
  readonly status: number
  readonly kind: string
  readonly title: string
  readonly detail: string
  readonly diagnostics: Diagnostic[]
  readonly extra: Record<string, unknown>
  readonly at: Date

  constructor(status: number, body: Record<string, unknown>) {
    const title = text(body.title) ?? defaultTitle(status)
    const detail = text(body.detail) ?? ''
    super(detail || title)
    this.name = 'Problem'
    this.status = status
    this.kind = text(body.kind) ?? 'unknown'
    this.title = title
    this.detail = detail
    this.diagnostics = Array.isArray(body.diagnostics) ? (body.diagnostics as Diagnostic[]) : []
    this.extra = body
    this.at = new Date()
  }

  /** No response arrived: the server is down, or the connection is. */
  get isOffline(): boolean {
    return this.status === 0
  }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function defaultTitle(status: number): string {
  if (status === 0) return 'The server cannot be reached'
  if (status === 404) return 'Not found'
  if (status === 401) return 'Sign in to continue'
  if (status === 403) return 'Not allowed'
  return `The server responded with ${status}`
}

export interface RequestOptions {
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers }
  if (method !== 'GET') headers['x-branchpoint'] = '1'
  let body: BodyInit | undefined
  if (options.body instanceof FormData) body = options.body
  else if (options.body !== undefined) {
    headers['content-type'] = 'application/json'
    body = JSON.stringify(options.body)
  }
  let response: Response
  try {
    response = await fetch(API + path, { method, headers, body, signal: options.signal, credentials: 'same-origin' })
  } catch (error) {
    if (options.signal?.aborted) throw error
    throw new Problem(0, { kind: 'unavailable', detail: 'Check that the server is running, then try again.' })
  }
  noteResponseDate(response.headers.get('date'))
  const content = await response.text()
  const parsed = parse(content)
  if (!response.ok) {
    throw new Problem(response.status, isRecord(parsed) ? parsed : {})
  }
  return parsed as T
}

function parse(content: string): unknown {
  if (content === '') return null
  try {
    return JSON.parse(content)
  } catch {
    return content
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const get = <T>(path: string, signal?: AbortSignal) => request<T>('GET', path, { signal })
export const post = <T>(path: string, body?: unknown, headers?: Record<string, string>) =>
  request<T>('POST', path, { body: body ?? {}, headers })
export const put = <T>(path: string, body: unknown, headers?: Record<string, string>) => request<T>('PUT', path, { body, headers })
export const del = <T>(path: string) => request<T>('DELETE', path)

/** A query string of the values that are set. */
export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') parameters.set(name, String(value))
  }
  const encoded = parameters.toString()
  return encoded === '' ? '' : `?${encoded}`
}

export const segment = encodeURIComponent
