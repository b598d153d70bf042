import type { ELK, ElkNode } from 'elkjs/lib/elk-api'
import { useEffect, useState } from 'react'
import { alignChains, centreTrunk } from './centre.ts'
import { elkInput, type Placement, readPlacement } from './elkInput.ts'
import { loadLayout, saveLayout } from './layoutCache.ts'
import type { GraphModel } from './model.ts'

let elk: Promise<ELK> | null = null
const known = new Map<string, Placement>()
const MOST_KNOWN = 60

/** ELK is large and slow for large graphs: it is loaded and runs in a worker only. */
async function engine(): Promise<ELK> {
  elk ??= (async () => {
    const [{ default: Elk }, { default: workerUrl }] = await Promise.all([import('elkjs/lib/elk-api.js'), import('elkjs/lib/elk-worker.min.js?url')])
    return new Elk({ workerFactory: () => new Worker(workerUrl) })
  })()
  return elk
}

/** Computes the placement of a model, or finds it in the cache. */
export async function layout(model: GraphModel): Promise<Placement> {
  const cached = known.get(model.key) ?? (await loadLayout(model.key))
  const placement = cached ?? tidy(readPlacement((await (await engine()).layout(elkInput(model))) as ElkNode), model)
  known.set(model.key, placement)
  if (known.size > MOST_KNOWN) known.delete(known.keys().next().value ?? '')
  if (!cached) saveLayout(model.key, placement)
  return placement
}

function tidy(placement: Placement, model: GraphModel): Placement {
  return alignChains(centreTrunk(placement, model), model)
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
