import { BASE_PATH } from '../../api/base.ts'
import { type PlaygroundState, SPELLINGS } from './samples.ts'

const MAX_CASES = 50

/** The part of an address behind the `#` that holds a state: UTF-8 JSON in base64url. */
export function encodeState(state: PlaygroundState): string {
  const bytes = new TextEncoder().encode(JSON.stringify(state))
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** The state in an address; `null` if there is none that this page understands. */
export function decodeState(hash: string): PlaygroundState | null {
  const encoded = hash.replace(/^#/, '')
  if (encoded === '') return null
  try {
    const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
    const parsed: unknown = JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (letter) => letter.charCodeAt(0))))
    return isState(parsed) ? { ...parsed, cases: parsed.cases.slice(0, MAX_CASES) } : null
  } catch {
    return null
  }
}

function isState(value: unknown): value is PlaygroundState {
  const state = value as Partial<PlaygroundState> | null
  return typeof state === 'object' && state !== null && typeof state.condition === 'string' && typeof state.dialect === 'string'
    && SPELLINGS.some((spelling) => spelling.value === state.spelling)
    && Array.isArray(state.cases) && state.cases.length > 0 && state.cases.every((one) => typeof one?.name === 'string' && typeof one.text === 'string')
}

/** A context with values at their paths, such as `step.score.output.score`. */
export function contextOf(values: { path: string; value?: unknown }[]): Record<string, unknown> {
  const context: Record<string, unknown> = {}
  for (const { path, value } of values) {
    const keys = path.replace(/^\$/, '').split('.').filter((key) => key !== '' && !['__proto__', 'constructor', 'prototype'].includes(key))
    let at = context
    for (const [index, key] of keys.entries()) {
      if (index === keys.length - 1) at[key] = value ?? null
      else {
        const below = at[key]
        at = (typeof below === 'object' && below !== null && !Array.isArray(below) ? below : (at[key] = {})) as Record<string, unknown>
      }
    }
  }
  return context
}

/** The address of the playground with a condition and the values that a decision used: "Try other values". */
export function playgroundAddress(state: PlaygroundState): string {
  return `${BASE_PATH}/playground#${encodeState(state)}`
}
