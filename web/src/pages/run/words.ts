/** Why a step did not run, in words. */
export const SKIPPED: Record<string, string> = {
  arm_not_taken: 'not taken',
  gate_blocked: 'gate blocked',
  merge_without_value: 'no value arrived',
  loop_empty: 'no items',
  after_failure: 'not reached because the run had failed',
  cancelled: 'cancelled',
}
