import { useReactFlow, useStore } from '@xyflow/react'
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { Box, Placement } from './elkInput.ts'

const SMALLEST_OPENING_ZOOM = 0.6
const MARGIN = 12

export function moveMs(): number {
  return matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 240
}

/** Shows the beginning of the graph, in full width where that is readable, and the selected node. */
export function useOpeningView(shell: RefObject<HTMLDivElement | null>, placement: Placement, boxes: ReadonlyMap<string, Box>, selected: string | null): boolean {
  const flow = useReactFlow()
  const [isReady, setReady] = useState(false)
  const hasOpened = useRef(false)
  const width = useStore((state) => state.width)
  const height = useStore((state) => state.height)
  const first = useRef(selected)
  useLayoutEffect(() => {
    if (hasOpened.current || !shell.current || width === 0) return
    hasOpened.current = true
    void flow.setViewport(openingView(placement, boxes, first.current, width, height))
    setReady(true)
  }, [width, height, placement, boxes, flow, shell])
  return isReady
}

export function openingView(placement: Placement, boxes: ReadonlyMap<string, Box>, selected: string | null, width: number, height: number) {
  const zoom = Math.min(1, Math.max(SMALLEST_OPENING_ZOOM, (width - 8) / Math.max(1, placement.width)))
  const fits = placement.width * zoom <= width
  const firstBox = boxes.values().next().value
  const centre = fits ? placement.width / 2 : (firstBox ? firstBox.x + firstBox.width / 2 : placement.width / 2)
  let x = width / 2 - centre * zoom
  let y = 0
  const box = selected === null ? undefined : boxes.get(selected)
  if (box) {
    const bottom = (box.y + box.height) * zoom + y
    if (bottom > height - 120) y -= bottom - height / 2
    const left = box.x * zoom + x
    if (left < 0 || left + box.width * zoom > width) x = width / 2 - (box.x + box.width / 2) * zoom
  }
  return { x, y, zoom }
}

/** Keeps a node in view, moving as little as possible. */
export function useFollow(id: string | null, boxes: ReadonlyMap<string, Box>): void {
  const reveal = useReveal(boxes)
  useEffect(() => {
    if (id !== null) reveal(id)
  }, [id, reveal])
}

/** Moves the canvas until a node is in view. */
export function useReveal(boxes: ReadonlyMap<string, Box>): (id: string) => void {
  const flow = useReactFlow()
  const size = useRef({ width: 0, height: 0 })
  size.current = { width: useStore((state) => state.width), height: useStore((state) => state.height) }
  const current = useRef(boxes)
  current.current = boxes
  return useRef((id: string) => {
    const box = current.current.get(id)
    const { width, height } = size.current
    if (!box || width === 0) return
    const { x, y, zoom } = flow.getViewport()
    const left = box.x * zoom + x
    const top = box.y * zoom + y
    const right = left + box.width * zoom
    const bottom = top + box.height * zoom
    if (left >= MARGIN && top >= MARGIN && right <= width - MARGIN && bottom <= height - MARGIN) return
    void flow.setCenter(box.x + box.width / 2, box.y + box.height / 2, { zoom, duration: moveMs() })
  }).current
}

/** How much of a node is shown at the current zoom: everything, the id, or a block in the colour of its status. */
export function useDetail(): 'full' | 'names' | 'blocks' {
  return useStore((state) => (state.transform[2] < 0.3 ? 'blocks' : state.transform[2] < 0.6 ? 'names' : 'full'))
}
