import { type PointerEvent, useState } from 'react'

/** The width of a panel, remembered in this browser. */
export function usePanelWidth(name: string, initial: number, least: number, most: number): [number, (width: number) => void] {
  const key = `panel:${name}`
  const limit = (width: number) => Math.round(Math.min(most, Math.max(least, width)))
  const [width, setWidth] = useState(() => limit(Number(localStorage.getItem(key)) || initial))
  return [width, (next) => {
    const limited = limit(next)
    setWidth(limited)
    localStorage.setItem(key, String(limited))
  }]
}

/** The edge of a panel: drag it, use the arrow keys, or double-click for the first width. `side` is where the panel is. */
export function Resizer({ label, width, initial, side, onResize }: { label: string; width: number; initial: number; side: 'left' | 'right'; onResize: (width: number) => void }) {
  const sign = side === 'left' ? 1 : -1
  const begin = (event: PointerEvent<HTMLDivElement>) => {
    const from = event.clientX
    const target = event.currentTarget
    target.setPointerCapture(event.pointerId)
    const move = (moved: globalThis.PointerEvent) => onResize(width + sign * (moved.clientX - from))
    target.addEventListener('pointermove', move)
    target.addEventListener('lostpointercapture', () => target.removeEventListener('pointermove', move), { once: true })
  }
  return (
    <div
      className={`resizer resizer-${side}`} role="separator" aria-orientation="vertical" aria-label={label} aria-valuenow={width} tabIndex={0}
      onPointerDown={begin} onDoubleClick={() => onResize(initial)}
      onKeyDown={(event) => {
        const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key]
        if (step === undefined) return
        event.preventDefault()
        onResize(width + sign * step)
      }}
    />
  )
}
