import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get, query, segment } from '../../api/client.ts'
import { recentRunsQuery } from '../../api/queries.ts'
import type { Decision, StepDetail, StepPage } from '../../api/types.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { stepLabel } from '../../ui/format.ts'
import { Select } from '../../ui/Select.tsx'
import { reason } from '../../ui/Sentence.tsx'
import { Empty, Failed, SkeletonRows } from '../../ui/States.tsx'
import { contextOf } from './address.ts'
import type { PlaygroundState } from './samples.ts'

type Choose = (change: (state: PlaygroundState) => PlaygroundState) => void

/** Loads the values that a decision of a run used, and its condition if it is an expression. */
export default function FromRun({ onClose, onChoose }: { onClose: () => void; onChoose: Choose }) {
  const runs = useQuery(recentRunsQuery(50))
  const [chosen, setChosen] = useState<string | null>(null)
  const items = runs.data?.items ?? []
  const run = items.find((one) => one.id === (chosen ?? items[0]?.id))
  return (
    <Dialog open onClose={onClose} title="Values from a run" width={620}>
      {runs.isPending && <SkeletonRows rows={3} height={36} />}
      {runs.isLoadingError && <Failed what="the runs" error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.isSuccess && items.length === 0 && <Empty title="No runs yet">Start a run first. Its decisions appear here with the values that they used.</Empty>}
      {run && (
        <>
          <Select label="Run" value={run.id} onChange={setChosen} options={items.map((one) => ({ value: one.id, label: `${one.id} · ${one.workflow}` }))} />
          <Decisions run={run.id} dialect={run.dialect} onChoose={onChoose} />
        </>
      )}
    </Dialog>
  )
}

function Decisions({ run, dialect, onChoose }: { run: string; dialect: string; onChoose: Choose }) {
  const trace = useQuery({ queryKey: ['decisions', run], queryFn: ({ signal }) => get<StepPage>(`/runs/${segment(run)}/trace${query({ deep: true, limit: 200 })}`, signal) })
  if (trace.isPending) return <SkeletonRows rows={4} height={40} />
  if (trace.isLoadingError) return <Failed what="its decisions" error={trace.error} onRetry={() => void trace.refetch()} />
  const decided = trace.data.items.flatMap((step) => step.decisions.filter((decision) => decision.values.length > 0).map((decision, index) => ({ step, decision, index })))
  if (decided.length === 0) return <Empty title="No decision with values">The decisions of this run read no values.</Empty>
  const choose = async (key: string, index: number) => {
    const step = await get<StepDetail>(`/runs/${segment(run)}/trace/${segment(key)}?full=true`)
    const decision = step.decisions.filter((one) => one.values.length > 0)[index]
    if (decision) onChoose((state) => stateOf(state, decision, dialect, `${run} ${decision.step}`))
  }
  return (
    <div className="list from-run">
      {decided.map(({ step, decision, index }) => (
        <button key={`${step.key}-${index}`} type="button" className="li" onClick={() => void choose(step.key, index)}>
          <span className="grow clip"><b>{stepLabel(step)}</b> <span className="muted small">{decision.chosen ? `→ ${decision.chosen}` : ''}</span><br /><span className="soft small clip">{reason(decision.sentence)}</span></span>
        </button>
      ))}
    </div>
  )
}

/** The values become a case. The condition comes along where the document spells it as an expression that the playground can show. */
function stateOf(state: PlaygroundState, decision: Decision, dialect: string, name: string): PlaygroundState {
  const text = JSON.stringify(contextOf(decision.values), null, 2)
  const branch = decision.branches.find((one) => one.name === decision.chosen && one.condition) ?? decision.branches.find((one) => one.condition)
  const isExpression = branch?.condition && branch.line !== null && branch.tree?.text === branch.condition
  if (isExpression && branch.condition) return { spelling: 'expression', dialect, condition: branch.condition, cases: [{ name, text }] }
  return { ...state, cases: [{ name, text }, ...state.cases] }
}
