import { memo } from 'react'
import type { Row } from './rows.ts'
import type { Scale } from './scale.ts'
import { barsOf } from './tracks.ts'

/** The bars of a row on the time of the run. */
export const Track = memo(function Track({ row, scale, width }: { row: Row; scale: Scale; width: number }) {
  const bars = barsOf(row, scale, scale.end, width < 100)
  return (
    <span className="track" style={{ width }} aria-hidden>
      {bars.map((bar, index) => {
        const left = Math.min(bar.left * width, width - 2)
        const isPoint = bar.look.startsWith('point')
        return <i key={index} className={`b-${bar.look}`} style={isPoint ? { left } : { left, width: Math.max(2, bar.width * width) }} />
      })}
    </span>
  )
})
