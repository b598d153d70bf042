import { Copy } from 'lucide-react'
import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import { Button, IconButton } from '../../ui/Button.tsx'
import { copyText } from '../../ui/clipboard.ts'
import { formatCount, shortValue } from '../../ui/format.ts'
import { isOver } from './runStatus.ts'
import { ticksOf } from './scale.ts'
import { countSteps, FilterMenu, Partial, type StepsProps, TreeOf, useScaleEnd } from './Steps.tsx'
import { resultOf } from './result.ts'

const NAME_PX = 342
const NUMBERS_PX = 204
const LEAST_TRACK = 120

/** The tree with a ruler, bars, tokens and cost in place of the graph. */
export function Timeline(props: StepsProps) {
  const { run, rows, view, store } = props
  const section = useRef<HTMLElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = section.current
    if (!element) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const room = width - NAME_PX - NUMBERS_PX
  const track = room >= LEAST_TRACK ? Math.min(room, 900) : 0
  const end = useScaleEnd(props)
  const ticks = useMemo(() => ticksOf({ start: Date.parse(run.started), end }, track), [run.started, end, track])
  const hasLoops = store.loops().length > 0
  const isCollapsed = hasLoops && store.loops().every((loop) => rows.rows.some((row) => row.id === loop.key && !row.open))
  return (
    <section ref={section} className="timeline" aria-label="Steps">
      <div className="tl-head">
        <span className="c-name">
          <b>Steps</b><span className="count">{formatCount(countSteps(props))}</span><span className="grow" />
          <FilterMenu view={view} labelled />
          {hasLoops && <Button look="quiet" small onClick={() => rows.toggleLoops(isCollapsed)}>{isCollapsed ? 'Expand loops' : 'Collapse loops'}</Button>}
        </span>
        {track > 0 && <span className="ruler" style={{ width: track }} aria-hidden>{ticks.map((tick) => <span key={tick.at} style={{ left: tick.at * track }}>{tick.label}</span>)}</span>}
        <span className="dur c-dur">Duration</span><span className="dur c-tok">Tokens</span><span className="dur c-cost">Cost</span>
      </div>
      <div className="tl-body">
        {track > 0 && <div className="gridlines" style={{ width: track }} aria-hidden>{ticks.slice(1).map((tick) => <i key={tick.at} style={{ left: tick.at * track }} />)}</div>}
        {width > 0 && <TreeOf {...props} look="timeline" trackWidth={track} />}
      </div>
      <Partial store={store} />
      {isOver(run) && <Result {...props} />}
    </section>
  )
}

function Result({ run }: StepsProps) {
  const result = resultOf(run)
  if (result === null) return null
  const text = typeof result === 'string' ? result : JSON.stringify(result, null, 2)
  return (
    <div className="result">
      <span className="label">Result</span>
      <p className="clip" title={text.slice(0, 2000)}>{typeof result === 'string' ? result : <code>{shortValue(result, 200)}</code>}</p>
      <IconButton label="Copy result" icon={Copy} size={15} onClick={() => void copyText(text, 'the result')} />
    </div>
  )
}
