import '../styles/graph.css'
import './canvas.css'
import { lazy, type ReactNode, Suspense } from 'react'
import type { Drawing } from '../api/types.ts'
import { ErrorBoundary } from '../ui/ErrorBoundary.tsx'
import { Failed } from '../ui/States.tsx'
import type { Mark, ProblemCount } from './context.ts'
import type { CanvasEditing, Places } from './editing.ts'
import type { CanvasMode } from './model.ts'
import type { FrameState, NodeState } from './states.ts'

export interface CanvasProps {
  drawing: Drawing
  mode: CanvasMode
  /** What it shows, for screen readers: "Run graph". */
  label: string
  /** What a run did, by node. Without it nothing has run: all edges are open. */
  states?: ReadonlyMap<string, NodeState> | null
  /** The iterations of loops, by node. */
  frames?: ReadonlyMap<string, FrameState>
  onIteration?: (loop: string, index: number) => void
  /** The selected nodes, the main one last. */
  selected?: readonly string[]
  /** A node was clicked or opened by keyboard; null for the empty canvas. */
  onSelect?: (id: string | null, how: { keyboard: boolean }) => void
  problems?: ReadonlyMap<string, ProblemCount>
  marks?: Readonly<Record<string, Mark>>
  editing?: CanvasEditing | null
  /** Where nodes were placed by hand; the others are laid out automatically. */
  places?: Places | null
  /** The node to keep in view while a run continues; null does not follow. */
  follow?: string | null
  /** The person has moved the canvas, so that it should not follow any more. */
  onPan?: () => void
  /** Buttons in the bar at the top left, after the zoom buttons (`zoom="top"`) or alone. */
  tools?: ReactNode
  /** Where the zoom buttons are; `bottom` shows the percentage, too. */
  zoom?: 'top' | 'bottom' | 'none'
  /** Laid over the canvas: a legend, the preflight bar, a menu. */
  children?: ReactNode
  /** Shown dimmed, with this label: "Last valid version". */
  stale?: string | null
}

const FlowCanvas = lazy(() => import('./FlowCanvas.tsx'))

/**
 * The graph of a workflow or of a run: pages of runs, workflows, versions, and phones.
 *
 * The library that pans and zooms is loaded with the first canvas; until then the place is kept empty.
 */
export function Canvas(props: CanvasProps) {
  return (
    <section className="canvas" aria-label={props.label}>
      <ErrorBoundary fallback={(error, retry) => <Failed what="the graph" error={error} onRetry={retry} />}>
        <Suspense>
          <FlowCanvas {...props} />
        </Suspense>
      </ErrorBoundary>
    </section>
  )
}
