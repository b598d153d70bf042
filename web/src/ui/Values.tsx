import { Clock } from 'lucide-react'
import { serverNow, useNow, useSlowNow } from './clock.ts'
import { clockSeconds, formatCost, formatCount, formatDuration, formatRemaining, formatWhen, fullTime } from './format.ts'
import { Icon } from './icons.tsx'

export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return null
  return <span className="num">{formatDuration(ms)}</span>
}

/** A duration that grows once a second, from a start time. */
export function RunningDuration({ since, short }: { since: string; short?: boolean }) {
  const ms = Math.max(0, useNow() - Date.parse(since))
  return short ? <span className="num">{formatDuration(ms).split(' ')[0]}</span> : <Duration ms={ms} />
}

/** A time in a list: relative up to an hour. The tooltip has both zones. */
export function When({ at }: { at: string | null | undefined }) {
  const slow = useSlowNow()
  if (!at) return null
  const date = new Date(at)
  const fresh = Math.abs(slow - date.getTime()) < 90_000 ? serverNow() : slow
  return <time dateTime={at} title={fullTime(date)}>{formatWhen(date, new Date(fresh))}</time>
}

/** A clock time with seconds, on pages of one run. */
export function ClockTime({ at }: { at: string | null | undefined }) {
  if (!at) return null
  const date = new Date(at)
  return <time className="num" dateTime={at} title={fullTime(date)}>{clockSeconds(date)}</time>
}

export function Cost({ micros }: { micros: number | null | undefined }) {
  if (!micros) return null
  return <span className="num">{formatCost(micros)}</span>
}

export function Tokens({ count, unit }: { count: number | null | undefined; unit?: boolean }) {
  if (!count) return null
  return <span className="num">{formatCount(count)}{unit ? ' tokens' : ''}</span>
}

/** The countdown to a deadline. Red and with the word "soon" below ten minutes. */
export function Deadline({ at, left }: { at: string | null | undefined; left?: boolean }) {
  const now = useNow()
  if (!at) return <span className="due"><span className="muted">no deadline</span></span>
  const date = new Date(at)
  const remaining = date.getTime() - now
  if (remaining <= 0) return <span className="due soon">Timed out</span>
  const soon = remaining < 600_000
  return (
    <time className={`due${soon ? ' soon' : ''}`} dateTime={at} title={fullTime(date)}>
      <Icon of={Clock} size={13} />
      {formatRemaining(remaining)}{left ? ' left' : ''}
      {soon && <span className="sr"> (soon)</span>}
    </time>
  )
}
