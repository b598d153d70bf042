import { useEffect, useState } from 'react'
import type { Placement } from './elkInput.ts'
import type { LayoutAnswer, LayoutRequest } from './layout.worker.ts'
import { loadLayout, saveLayout } from './layoutCache.ts'
import type { GraphModel } from './model.ts'

const known = new Map<string, Placement>()
const MOST_KNOWN = 60

/** ELK is large, and slow for large graphs: it is loaded and runs in a worker only. */
class LayoutEngine {
  private worker: Worker | null = null
  private waiting = new Map<number, { resolve: (placement: Placement) => void; reject: (error: Error) => void }>()
  private last = 0

  layout(model: GraphModel): Promise<Placement> {
    const worker = (this.worker ??= this.start())
    const id = ++this.last
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      worker.postMessage({ id, model } satisfies LayoutRequest)
    })
  }

  private start(): Worker {
    const worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module', name: 'branchpoint-layout' })
    worker.onmessage = ({ data }: MessageEvent<LayoutAnswer>) => {
      const request = this.waiting.get(data.id)
      this.waiting.delete(data.id)
      if ('placement' in data) request?.resolve(data.placement)
      else request?.reject(new Error(data.error))
    }
    worker.onerror = (event) => {
      this.worker = null
      for (const request of this.waiting.values()) request.reject(new Error(event.message || 'The layout of the graph could not be loaded.'))
      this.waiting.clear()
    }
    return worker
  }
}

const engine = new LayoutEngine()

/** Computes the placement of a model, or finds it in the cache. */
export async function layout(model: GraphModel): Promise<Placement> {
  const cached = known.get(model.key) ?? (await loadLayout(model.key))
  const placement = cached ?? (await engine.layout(model))
  known.set(model.key, placement)
  if (known.size > MOST_KNOWN) known.delete(known.keys().next().value ?? '')
  if (!cached) saveLayout(model.key, placement)
  return placement
}

export interface LayoutResult {
  placement: Placement | null
  /** The model to which the placement belongs: the one before while a new layout is computed. */
  model: GraphModel | null
  error: unknown
}

/** The placement of a model. Until a new one is computed, the result is the one before, so that nothing disappears. */
export function useLayout(model: GraphModel | null): LayoutResult {
  const immediate = model ? known.get(model.key) : undefined
  const [result, setResult] = useState<LayoutResult>({ placement: immediate ?? null, model: immediate ? model : null, error: null })
  useEffect(() => {
    if (!model) return
    let current = true
    layout(model).then(
      (placement) => current && setResult({ placement, model, error: null }),
      (error: unknown) => current && setResult({ placement: null, model: null, error }),
    )
    return () => {
      current = false
    }
  }, [model])
  return immediate && model && result.model !== model ? { placement: immediate, model, error: null } : result
}
