import { type KeyboardEvent, type PointerEvent, type ReactNode, useRef, useState } from 'react'

const MIN = 24
const MAX = 76
const KEY = 'design-split'

/** Two panes with a divider that can be dragged; a double click resets it. */
export function SplitPane({ left, right, initial = 49.7 }: { left: ReactNode; right: ReactNode; initial?: number }) {
  const [share, setShare] = useState(() => remembered() ?? initial)
  const frame = useRef<HTMLDivElement>(null)
  const choose = (next: number | null) => {
    const value = next === null ? initial : Math.max(MIN, Math.min(MAX, next))
    setShare(value)
    if (next === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, String(value))
  }
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    const box = frame.current?.getBoundingClientRect()
    if (!box || !event.currentTarget.hasPointerCapture(event.pointerId)) return
    choose(((event.clientX - box.left) / box.width) * 100)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key]
    if (step === undefined && event.key !== 'Home') return
    event.preventDefault()
    choose(step === undefined ? null : share + step)
  }
  return (
    <div className="split" ref={frame} style={{ gridTemplateColumns: `${share}% 0 minmax(0, 1fr)` }}>
      {left}
      <div
        className="split-bar" role="separator" tabIndex={0} aria-label="Resize canvas and source" aria-orientation="vertical" aria-valuenow={Math.round(share)}
        aria-valuemin={MIN} aria-valuemax={MAX} title="Drag to resize, double-click to reset" onDoubleClick={() => choose(null)} onKeyDown={onKeyDown}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)} onPointerMove={drag}
      />
      {right}
    </div>
  )
}

function remembered(): number | null {
  const value = Number(localStorage.getItem(KEY))
  return value >= MIN && value <= MAX ? value : null
}
