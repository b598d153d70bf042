import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark' | 'system'

const listeners = new Set<() => void>()

function chosen(): Theme {
  const value = localStorage.getItem('theme')
  return value === 'light' || value === 'dark' ? value : 'system'
}

function apply(): void {
  const theme = chosen()
  const dark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
  for (const listener of listeners) listener()
}

if (typeof matchMedia === 'function') matchMedia('(prefers-color-scheme: dark)').addEventListener('change', apply)

// `theme.js` has set it before the first paint, unless a proxy or an extension kept that file away.
if (typeof document !== 'undefined' && document.documentElement.dataset.theme === undefined) apply()

function choose(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem('theme')
  else localStorage.setItem('theme', theme)
  apply()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The chosen theme, and the function that changes it. `theme.js` sets the first one before the page paints. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, chosen), choose]
}
