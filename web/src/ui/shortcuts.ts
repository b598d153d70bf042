import { useEffect, useRef, useSyncExternalStore } from 'react'

export interface Shortcut {
  /** `k`, `?`, `Shift+n`, `Ctrl+k`, `g o` (a sequence). */
  keys: string
  label: string
  run: () => void
  /** Works inside inputs, too. */
  always?: boolean
  /** Not listed on the page of shortcuts. */
  hidden?: boolean
}

const layers: Shortcut[][] = []
const listeners = new Set<() => void>()
let prefix = ''
let prefixTimer: ReturnType<typeof setTimeout> | undefined
let snapshot: Shortcut[] = []

/** Single-letter shortcuts can be turned off in the user menu (WCAG 2.1.4). */
export function singleLettersEnabled(): boolean {
  return localStorage.getItem('single-letters') !== 'off'
}

export function setSingleLetters(on: boolean): void {
  localStorage.setItem('single-letters', on ? 'on' : 'off')
}

function publish(): void {
  snapshot = layers.flat()
  for (const listener of listeners) listener()
}

/** Registers shortcuts while the component is mounted. Later components come first. */
export function useShortcuts(shortcuts: Shortcut[], active = true): void {
  const current = useRef(shortcuts)
  current.current = shortcuts
  const names = shortcuts.map((shortcut) => shortcut.keys + shortcut.label).join('\n')
  useEffect(() => {
    if (!active) return
    const layer = current.current.map((shortcut, index) => ({ ...shortcut, run: () => current.current[index]?.run() }))
    layers.unshift(layer)
    publish()
    return () => {
      layers.splice(layers.indexOf(layer), 1)
      publish()
    }
  }, [active, names])
}

export function useAllShortcuts(): Shortcut[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => snapshot,
  )
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable="true"], .cm-editor') !== null
}

function nameOf(event: KeyboardEvent): string {
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key
  const shifted = event.shiftKey && (event.key.length > 1 || /[a-z0-9]/i.test(event.key))
  return `${event.ctrlKey || event.metaKey ? 'Ctrl+' : ''}${event.altKey ? 'Alt+' : ''}${shifted ? 'Shift+' : ''}${name}`
}

/** `Shift+1` by the place of the key: what it types differs between layouts. */
function digitOf(event: KeyboardEvent): string | null {
  const digit = /^Digit(\d)$/.exec(event.code)?.[1]
  return digit !== undefined && event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey ? `Shift+${digit}` : null
}

export function handleShortcut(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  const name = nameOf(event)
  const typing = isTyping(event.target)
  if (document.querySelector('.dialog-popup, .palette-popup, .menu-popup') && !name.startsWith('Ctrl+')) return
  const single = name.length === 1 || /^Shift\+.$/.test(name)
  if (single && (typing || !singleLettersEnabled())) return
  const sequence = prefix === '' ? name : `${prefix} ${name}`
  const all = layers.flat()
  const isHere = (shortcut: Shortcut) => !typing || shortcut.always || name.startsWith('Ctrl+') || name === 'Escape'
  const digit = digitOf(event)
  const found = all.find((shortcut) => shortcut.keys === sequence && isHere(shortcut)) ?? all.find((shortcut) => shortcut.keys === digit && isHere(shortcut))
  clearTimeout(prefixTimer)
  prefix = ''
  if (found) {
    if (typing && name !== 'Escape' && !found.always && !/^Ctrl\+[ksz]$/.test(name)) return
    event.preventDefault()
    found.run()
  } else if (!typing && all.some((shortcut) => shortcut.keys.startsWith(`${name} `))) {
    prefix = name
    prefixTimer = setTimeout(() => (prefix = ''), 1200)
  }
}
