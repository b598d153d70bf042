import type { RunDetail } from '../../api/types.ts'

/** Whether a run has ended: nothing in it will change. */
export function isOver(run: Pick<RunDetail, 'status'>): boolean {
  return run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled'
}
