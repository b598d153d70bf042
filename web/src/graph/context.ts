import { createContext, useContext } from 'react'
import type { CanvasEditing } from './editing.ts'
import type { CanvasMode, GraphModel } from './model.ts'
import type { FrameState, NodeState } from './states.ts'

export interface ProblemCount {
  errors: number
  warnings: number
}

export type Mark = 'added' | 'changed' | 'removed'

/** What the nodes of one canvas share. */
export interface GraphContextValue {
  mode: CanvasMode
  model: GraphModel
  states: ReadonlyMap<string, NodeState> | null
  frames: ReadonlyMap<string, FrameState>
  problems: ReadonlyMap<string, ProblemCount>
  marks: Readonly<Record<string, Mark>>
  editing: CanvasEditing | null
  onIteration: ((loop: string, index: number) => void) | null
  /** Shows or hides the steps of a frame or of folded branches. */
  onToggle: (id: string) => void
}

export const GraphContext = createContext<GraphContextValue | null>(null)

export function useGraph(): GraphContextValue {
  const value = useContext(GraphContext)
  if (!value) throw new Error('This node is drawn outside of a canvas.')
  return value
}
