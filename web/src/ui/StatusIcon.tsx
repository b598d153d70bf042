import type { ReactElement } from 'react'
import type { StepStatus } from '../api/types.ts'

/** Words of a status, on every page and in the terminal. */
export const STATUS_LABEL: Record<StepStatus, string> = {
  running: 'Running',
  waiting_people: 'Waiting for approval',
  waiting_timer: 'Waiting for timer',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  skipped: 'Skipped',
  pending: 'Not reached',
  blocked: 'Blocked',
  interrupted: 'Interrupted',
}

type Look = 'running' | 'people' | 'timer' | 'done' | 'failed' | 'cancelled' | 'skipped' | 'pending' | 'blocked'

const LOOK: Record<StepStatus, Look> = {
  running: 'running',
  waiting_people: 'people',
  waiting_timer: 'timer',
  completed: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
  skipped: 'skipped',
  pending: 'pending',
  blocked: 'blocked',
  interrupted: 'cancelled',
}

/** The suffix of the CSS classes of a status: `is-done`, `badge-people`. */
export function statusLook(status: StepStatus): Look {
  return LOOK[status] ?? 'pending'
}

const ring = <circle cx="8" cy="8" r="6.25" stroke="currentColor" strokeWidth="1.5" />

const SHAPES: Record<Look, ReactElement> = {
  running: (
    <>
      <circle cx="8" cy="8" r="6.1" stroke="currentColor" strokeWidth="1.8" opacity=".25" />
      <path d="M8 1.9a6.1 6.1 0 0 1 6.1 6.1" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />
    </>
  ),
  people: (
    <>
      <circle cx="8" cy="8" r="7" fill="var(--people-fill)" />
      <circle cx="8" cy="6.1" r="2.1" fill="#3a2500" />
      <path d="M4.3 12.1c.5-2 2-3 3.7-3s3.2 1 3.7 3a5.6 5.6 0 0 1-7.4 0z" fill="#3a2500" />
    </>
  ),
  timer: <>{ring}<path d="M8 4.6V8l2.3 1.5" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" /></>,
  done: <>{ring}<path d="m5.5 8.2 1.8 1.8 3.3-3.9" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" /></>,
  failed: (
    <>
      <path d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z" fill="currentColor" />
      <path d="m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4" stroke="var(--surface)" strokeWidth="1.6" strokeLinecap="round" />
    </>
  ),
  cancelled: <>{ring}<path d="m4 12 8-8" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" /></>,
  skipped: <path d="M4.2 8h7.6" stroke="currentColor" strokeWidth="1.75" strokeLinecap="round" />,
  pending: <circle cx="8" cy="8" r="6.25" stroke="currentColor" strokeWidth="1.5" strokeDasharray="2 2.36" />,
  blocked: <path d="M3.5 3v10M12.5 3v10M3.5 6h9M3.5 10h9" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />,
}

export function StatusIcon({ status, decorative, size = 16 }: { status: StepStatus; decorative?: boolean; size?: number }) {
  const look = statusLook(status)
  const label = decorative ? { 'aria-hidden': true } : { role: 'img', 'aria-label': STATUS_LABEL[status] ?? status }
  return (
    <svg className={`i st st-${look}`} viewBox="0 0 16 16" fill="none" width={size} height={size} {...label}>
      {SHAPES[look]}
    </svg>
  )
}

export function StatusBadge({ status }: { status: StepStatus }) {
  return (
    <span className={`badge badge-${statusLook(status)}`}>
      <StatusIcon status={status} decorative />
      {STATUS_LABEL[status] ?? status}
    </span>
  )
}
