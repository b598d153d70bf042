/// <reference lib="webworker" />
import elk from 'elkjs/lib/elk-worker.min.js'
import type { ElkNode } from 'elkjs/lib/elk-api'
import { alignChains, centreTrunk } from './centre.ts'
import { elkInput, type Placement, readPlacement } from './elkInput.ts'
import type { GraphModel } from './model.ts'

export interface LayoutRequest {
  id: number
  model: GraphModel
}

export type LayoutAnswer = { id: number; placement: Placement } | { id: number; error: string }

// ELK is written as a worker of its own. Its object for pages without workers runs it here, beside our own steps.
const engine = new elk.Worker()
const models = new Map<number, GraphModel>()

engine.postMessage({ id: 0, cmd: 'register', algorithms: ['layered'] })
engine.onmessage = ({ data }: { data: { id: number; data?: ElkNode; error?: unknown } }) => {
  const model = models.get(data.id)
  if (!model) return
  models.delete(data.id)
  answer(data.data ? { id: data.id, placement: alignChains(centreTrunk(readPlacement(data.data), model), model) } : { id: data.id, error: messageOf(data.error) })
}

// ELK sets a handler of its own when it is loaded; this one replaces it.
self.onmessage = (event: MessageEvent<LayoutRequest>) => {
  const { id, model } = event.data
  models.set(id, model)
  engine.postMessage({ id, cmd: 'layout', graph: elkInput(model), layoutOptions: {}, options: {} })
}

function answer(message: LayoutAnswer): void {
  self.postMessage(message)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
}
