import { NOT_TAKEN } from '../../graph/states.ts'

/** Why a step did not run, in words. */
export const SKIPPED: Record<string, string> = {
  arm_not_taken: NOT_TAKEN,
  gate_blocked: 'gate blocked',
  merge_without_value: 'no value arrived',
  loop_empty: 'no items',
  after_failure: 'not reached because the run had failed',
  cancelled: 'cancelled',
}
