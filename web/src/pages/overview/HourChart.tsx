import type { Overview } from '../../api/types.ts'
import { clock, formatCount } from '../../ui/format.ts'

const WIDTH = 312
const BASE = 70
const TALLEST = 64

/** One bar per hour: finished runs, the failed ones in red at the bottom. */
export function HourChart({ hours }: { hours: Overview['hours'] }) {
  const finished = hours.reduce((sum, hour) => sum + hour.completed + hour.failed + (hour.cancelled ?? 0), 0)
  const failed = hours.reduce((sum, hour) => sum + hour.failed, 0)
  const most = Math.max(1, ...hours.map((hour) => hour.completed + hour.failed + (hour.cancelled ?? 0)))
  const summary = `${formatCount(finished)} finished, ${formatCount(failed)} failed`
  const step = WIDTH / Math.max(1, hours.length)
  return (
    <>
      <div className="card-head"><h2>Last 24 hours</h2><span className="grow" /><span className="muted small num">{summary}</span></div>
      <div className="chart-box">
        <svg className="chart" viewBox={`0 0 ${WIDTH} 88`} role="img" aria-label={`Finished runs per hour over the last 24 hours: ${summary}`}>
          {hours.map((hour, index) => {
            const good = hour.completed + (hour.cancelled ?? 0)
            const goodHeight = good === 0 ? 0 : Math.max(2, (good / most) * TALLEST)
            const badHeight = hour.failed === 0 ? 0 : Math.max(4, (hour.failed / most) * TALLEST)
            const gap = badHeight > 0 && goodHeight > 0 ? 1 : 0
            return (
              <g key={hour.hour}>
                <title>{`${clock(new Date(hour.hour))}: ${good} completed, ${hour.failed} failed`}</title>
                <rect x={index * step} y={BASE - badHeight - gap - goodHeight} width={9} height={goodHeight} rx={1} fill="var(--bar)" />
                <rect x={index * step} y={BASE - badHeight} width={9} height={badHeight} rx={1} fill="var(--failed-fill)" />
              </g>
            )
          })}
          <path d={`M0 71.5h${WIDTH}`} stroke="var(--line)" />
          <g className="axis">
            {[0, 8, 16].map((index) => hours[index] && <text key={index} x={index * step} y={85}>{clock(new Date(hours[index].hour))}</text>)}
            <text x={WIDTH} y={85} textAnchor="end">now</text>
          </g>
        </svg>
      </div>
    </>
  )
}
