import { type KeyboardEvent, useRef } from 'react'
import type { Box } from './elkInput.ts'
import { type Direction, neighbour } from './describe.ts'
import type { GraphModel } from './model.ts'
import type { NodeState } from './states.ts'
import { useReveal } from './useViewport.ts'

const ARROWS: Record<string, Direction> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' }

/** Arrows follow the edges, Enter and Space open a step. The keys of the editor come first. */
export function useCanvasKeys({ model, states, boxes, selected, open, onNodeKey }: {
  model: GraphModel
  states: ReadonlyMap<string, NodeState> | null
  boxes: ReadonlyMap<string, Box>
  selected: readonly string[]
  open: (id: string, keyboard: boolean) => void
  onNodeKey: ((id: string, event: globalThis.KeyboardEvent) => boolean) | undefined
}): (event: KeyboardEvent<HTMLDivElement>) => void {
  const reveal = useReveal(boxes)
  const pending = useRef(0)
  const focus = (shell: HTMLElement, id: string) => {
    reveal(id)
    // A node outside of the view is drawn only after the canvas has moved.
    const attempt = (left: number) => {
      const element = shell.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`)
      if (element) element.focus({ preventScroll: true })
      else if (left > 0) pending.current = requestAnimationFrame(() => attempt(left - 1))
    }
    cancelAnimationFrame(pending.current)
    attempt(40)
  }
  return (event) => {
    const target = event.target as HTMLElement
    if (target.closest('button, input, textarea, a')) return
    const id = target.closest<HTMLElement>('.react-flow__node')?.dataset.id ?? null
    if (id !== null && onNodeKey?.(id, event.nativeEvent)) return event.preventDefault()
    const direction = ARROWS[event.key]
    if (direction && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const from = id ?? selected[selected.length - 1] ?? model.nodes[0]?.id
      const next = from === undefined ? null : neighbour(model, states, from, direction)
      event.preventDefault()
      event.stopPropagation()
      if (next !== null) focus(event.currentTarget, next)
    } else if ((event.key === 'Enter' || event.key === ' ') && id !== null) {
      event.preventDefault()
      event.stopPropagation()
      open(id, true)
    }
  }
}
