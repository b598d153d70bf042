import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'

export interface Toast {
  id: number
  icon?: ReactNode
  text: ReactNode
  action?: ReactNode
  at: number
}

let toasts: Toast[] = []
let log: Toast[] = []
let last = 0
const listeners = new Set<() => void>()

function publish(): void {
  for (const listener of listeners) listener()
}

/** Reports an event that happens elsewhere or out of view. */
export function showToast(toast: Omit<Toast, 'id' | 'at'>): void {
  const entry = { ...toast, id: ++last, at: Date.now() }
  toasts = [...toasts.slice(-2), entry]
  log = [entry, ...log].slice(0, 50)
  publish()
}

function dismiss(id: number): void {
  toasts = toasts.filter((toast) => toast.id !== id)
  publish()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useToastLog(): Toast[] {
  return useSyncExternalStore(subscribe, () => log)
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => <ToastCard key={toast.id} toast={toast} />)}
    </div>
  )
}

function ToastCard({ toast }: { toast: Toast }) {
  const [hovered, setHovered] = useState(false)
  useEffect(() => {
    if (hovered) return
    const timer = setTimeout(() => dismiss(toast.id), 5000)
    return () => clearTimeout(timer)
  }, [hovered, toast.id])
  return (
    <div className="toast toast-card" onMouseEnter={() => setHovered(true)} onMouseLeave={() => setHovered(false)}>
      {toast.icon}
      <span className="grow">{toast.text}</span>
      {toast.action}
    </div>
  )
}
