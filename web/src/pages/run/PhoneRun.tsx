import { Link } from '@tanstack/react-router'
import { ChevronLeft } from 'lucide-react'
import { useState } from 'react'
import { useQuery } from '@tanstack/react-query'
import { approvalQuery, approvalsQuery, meQuery } from '../../api/queries.ts'
import type { RunDetail } from '../../api/types.ts'
import { Canvas } from '../../graph/Canvas.tsx'
import { Button, Segments } from '../../ui/Button.tsx'
import { formatCost, formatCount, joinNames, plural } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { JsonTree } from '../../ui/JsonTree.tsx'
import { leadingVotes } from '../../ui/Pips.tsx'
import { reason, Sentence } from '../../ui/Sentence.tsx'
import { Failed } from '../../ui/States.tsx'
import { StatusBadge } from '../../ui/StatusIcon.tsx'
import { Deadline } from '../../ui/Values.tsx'
import { FailedRun } from './FailedRun.tsx'
import { resultOf } from './result.ts'
import { RunActions, splitKey, useRunActions } from './RunActions.tsx'
import type { RunProps } from './RunBody.tsx'
import { ActiveTime } from './RunHeader.tsx'
import { RunInput } from './RunInput.tsx'
import { StepPanel } from './StepPanel.tsx'
import { Partial, TreeOf } from './Steps.tsx'
import { useGraphOfRun } from './useGraphOfRun.ts'
import { useRows } from './useRows.ts'
import { selectedStep } from './useRunView.ts'

/** A run on a phone: first what it is waiting for, then steps, graph or result. A step opens as a page. */
export default function PhoneRun(props: RunProps) {
  const { run, drawing, drawingError, store, version, view } = props
  const [part, setPart] = useState<'steps' | 'graph' | 'result'>('steps')
  const approvals = useQuery({ ...approvalsQuery('all'), enabled: run.status === 'waiting_people' }).data?.items
  const graph = useGraphOfRun({ run, drawing, store, version, view, approvals })
  const rows = useRows({ ...props, chosen: graph.chosen, closedLoops: true })
  const step = selectedStep(view, store)
  const node = drawing?.nodes.find((other) => other.title === (step?.step ?? view.planned?.title))
  if (view.selected !== null) {
    return (
      <main id="main" className="phone-step">
        <h1 className="sr">{run.id}</h1>
        <StepPanel
          run={run} view={view} store={store} step={step} node={node} isLost={rows.isLost} onClose={() => view.select(null)} onRound={graph.roundOf(step)}
          onOpen={(key) => view.select({ kind: 'step', key })} takesFocus={false}
        />
      </main>
    )
  }
  return (
    <main id="main" className="phone-run">
      <header className="phone-top">
        <Link className="icon-btn" to="/runs" aria-label="All runs"><Icon of={ChevronLeft} size={20} /></Link>
        <div className="grow phone-title"><h1 className="clip">{run.id}</h1><Link className="muted small clip" to="/workflows/$name" params={{ name: run.workflow }}>{run.workflow}</Link></div>
        <RunActions run={run} compact />
      </header>
      <div className="p-sum row">
        <StatusBadge status={run.status} />
        <span className="grow" />
        <span className="facts"><span><ActiveTime run={run} /></span>{run.usage.tokens > 0 && <span>{formatCount(run.usage.tokens)} tokens</span>}{run.usage.cost_micros > 0 && <span>{formatCost(run.usage.cost_micros)}</span>}</span>
      </div>
      {run.status === 'waiting_people' && <WaitsFor run={run} />}
      {run.status === 'failed' && <FailedRun run={run} store={store} withRetry onOpen={(key) => view.select({ kind: 'step', key })} />}
      <div className="p-seg"><Segments wide label="Show" value={part} onChange={setPart} options={[{ value: 'steps', label: 'Steps' }, { value: 'graph', label: 'Graph' }, { value: 'result', label: 'Result' }]} /></div>
      {part === 'steps' && <div className="ptree"><TreeOf {...props} rows={rows} graph={graph} look="phone" trackWidth={0} onOpen={(row) => (row.kind === 'group' || row.kind === 'iteration' ? rows.toggle(row, !row.open) : view.selectRow(row))} /><Partial store={store} /></div>}
      {part === 'graph' && (
        <div className="phone-graph">
          {drawing && graph.states ? <Canvas drawing={drawing} mode="run" label="Run graph" states={graph.states} frames={graph.frames} onIteration={graph.choose} zoom="none" onSelect={(id) => id !== null && view.selectNode(id, graph.chosen)} /> : drawingError !== null && <Failed what="the graph" error={drawingError} />}
        </div>
      )}
      {part === 'result' && <Result run={run} />}
    </main>
  )
}

/** The approval that holds the run, with the reason, and the way to answer. */
function WaitsFor({ run }: { run: RunDetail }) {
  const { answer } = useRunActions(run)
  const can = useQuery(meQuery).data?.can ?? {}
  const [ofRun, number] = splitKey(run.waiting_for?.approval ?? '/')
  const approval = useQuery({ ...approvalQuery(ofRun, number), enabled: run.waiting_for?.approval != null }).data
  const name = approval?.step ?? run.current[0] ?? 'An approval'
  const sentence = reason(run.last_decision?.sentence)
  return (
    <div className="p-card">
      <p className="why-line"><b>{name}</b> {needText(run, approval?.required ?? null, approval ? leadingVotes(approval).count : 0)}</p>
      <p className="soft small">{sentence && <>Because <Sentence text={sentence} />. </>}{run.waiting_for?.until && <><Deadline at={run.waiting_for.until} left />.</>}</p>
      {can.approve !== false && <Button look="primary" className="btn-touch" action onClick={answer}>Answer</Button>}
    </div>
  )
}

function needText(run: RunDetail, required: number | null, given: number): string {
  const people = run.waiting_for?.people
  const from = people && people.length > 0 ? ` from ${joinNames(people.slice(0, 4), 'or')}` : ''
  if (required === null) return `needs an answer${from}.`
  const missing = Math.max(1, required - given)
  return `needs ${given > 0 ? `${missing} more ${missing === 1 ? 'vote' : 'votes'}` : plural(missing, 'vote')}${from}.`
}

function Result({ run }: { run: RunDetail }) {
  const result = resultOf(run)
  return (
    <div className="phone-result">
      {result === null ? <p className="soft">{run.ended ? 'The run has no result.' : 'The result appears here when the run ends.'}</p> : typeof result === 'string' ? <p className="result-text">{result}</p> : <div className="json"><JsonTree value={result} /></div>}
      <RunInput run={run} />
    </div>
  )
}
