import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { post } from '../../api/client.ts'
import type { EvalResult } from '../../api/types.ts'
import type { PlaygroundState } from './samples.ts'

const PAUSE_MS = 120

export interface Evaluation {
  result: EvalResult | null
  /** The results belong to an earlier text; newer ones are on their way. */
  isPending: boolean
  error: unknown
  retry: () => void
  /** The position of each case in the results; `null` for a context that is not JSON. */
  positions: (number | null)[]
}

/** Evaluates a state on the server after a pause in typing. Responses that arrive out of order are dropped. */
export function useEvaluation(state: PlaygroundState): Evaluation {
  const settled = useSettled(state)
  const contexts = settled.cases.map((one) => contextIn(one.text))
  const valid = contexts.filter((context) => context !== null)
  const body = { condition: settled.condition, spelling: settled.spelling, dialect: settled.dialect, cases: valid }
  const query = useQuery({
    queryKey: ['eval', body],
    queryFn: () => post<EvalResult>('/eval', body),
    placeholderData: (before) => before,
    staleTime: Infinity,
    gcTime: 30_000,
    retry: false,
  })
  let next = 0
  const positions = contexts.map((context) => (context === null ? null : next++))
  return {
    result: query.isError ? null : (query.data ?? null),
    isPending: query.isPlaceholderData || settled !== state,
    error: query.error,
    retry: () => void query.refetch(),
    positions,
  }
}

/** The context of a case; `null` if it is not a JSON object. */
export function contextIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function useSettled(state: PlaygroundState): PlaygroundState {
  const [settled, setSettled] = useState(state)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(state), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [state])
  return settled
}
