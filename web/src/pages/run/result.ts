import { isRecord } from '../../api/client.ts'
import type { RunDetail } from '../../api/types.ts'

/** What a run produced: the output inside the envelope of the dialects that have one. */
export function resultOf(run: RunDetail): unknown {
  const { result } = run
  if (isRecord(result) && 'output' in result && ('status' in result || 'error' in result)) return result.output ?? null
  return result ?? null
}
