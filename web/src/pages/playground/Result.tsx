import { Link2, Terminal } from 'lucide-react'
import { useState } from 'react'
import type { EvalCase } from '../../api/types.ts'
import { Button, Segments } from '../../ui/Button.tsx'
import { copyText } from '../../ui/clipboard.ts'
import { reason, Sentence } from '../../ui/Sentence.tsx'
import { Empty, Failed, SkeletonRows } from '../../ui/States.tsx'
import { OutcomePill } from '../../why/OutcomePill.tsx'
import { WhyLegend, WhyTree } from '../../why/WhyTree.tsx'
import { commandOf } from './command.ts'
import type { PlaygroundState } from './samples.ts'
import type { Evaluation } from './useEvaluation.ts'

interface ResultProps {
  state: PlaygroundState
  evaluation: Evaluation
  at: number
  shown: EvalCase | null
  isInvalid: boolean
  onSelect: (at: number) => void
}

/** The outcome, the sentence and the tree of the selected case, and the outcomes of all cases. */
export function Result({ state, evaluation, at, shown, isInvalid, onSelect }: ResultProps) {
  return (
    <section className="pg-right" aria-label="Result">
      <div className="pg-h">
        <h2>Result</h2><span className="grow" />
        <Button look="quiet" small icon={Link2} onClick={() => void copyText(location.href, 'the link')}>Copy link</Button>
        <Button look="quiet" small icon={Terminal} onClick={() => void copyText(commandOf(state, state.cases[at]?.text ?? '{}'), 'the command')}>Copy as command</Button>
      </div>
      <div className={`pg-b${evaluation.isPending ? ' is-pending' : ''}`} aria-live="polite">
        {evaluation.error ? <Failed what="the result" error={evaluation.error} onRetry={evaluation.retry} />
          : isInvalid ? <Empty title="The condition does not compile">The problems below the condition say what to change. No earlier result is shown.</Empty>
          : evaluation.positions[at] === null ? <Empty title="No result for this case">Its context is not a JSON object.</Empty>
          : shown ? <Shown result={shown} />
          : <SkeletonRows rows={6} height={32} />}
        {evaluation.result && !isInvalid && !evaluation.error && <AllCases state={state} evaluation={evaluation} at={at} onSelect={onSelect} />}
      </div>
    </section>
  )
}

const outcomeOf = (result: EvalCase): boolean | 'error' => (result.error ? 'error' : (result.outcome ?? 'error'))

function Shown({ result }: { result: EvalCase }) {
  const [how, setHow] = useState<'all' | 'deciding'>('all')
  const sentence = result.error?.message ?? `because ${reason(result.explanation?.sentence)}`
  return (
    <>
      <div className="bigout" data-outcome={String(outcomeOf(result))}><OutcomePill outcome={outcomeOf(result)} big /></div>
      {result.matched !== null && result.matched !== undefined && <p className="soft small pg-matched">The first condition that matches is number {result.matched + 1}.</p>}
      <p className="why-line pg-sentence"><Sentence text={sentence} whole /></p>
      {result.explanation && (
        <>
          <div className="section pg-tree-head">
            Evaluation tree <span className="grow" />
            <Segments label="Parts" value={how} onChange={setHow} options={[{ value: 'all', label: 'All' }, { value: 'deciding', label: 'Deciding only' }]} />
          </div>
          <div className="tree-card"><WhyTree part={result.explanation.tree} decidingOnly={how === 'deciding'} /></div>
          <WhyLegend />
        </>
      )}
    </>
  )
}

function AllCases({ state, evaluation, at, onSelect }: Pick<ResultProps, 'state' | 'evaluation' | 'at' | 'onSelect'>) {
  return (
    <>
      <h3 className="section pg-all">All cases</h3>
      <div className="values">
        <table className="mini cases-t">
          <thead className="sr"><tr><th>Case</th><th>Outcome</th><th>Reason</th></tr></thead>
          <tbody>
            {state.cases.map((one, index) => {
              const position = evaluation.positions[index]
              const result = position === null || position === undefined ? null : evaluation.result?.cases[position]
              return (
                <tr key={index} className="clickable" aria-selected={index === at} onClick={() => onSelect(index)}>
                  <td><button type="button" className="b" onClick={() => onSelect(index)}>{one.name}</button></td>
                  <td>{result ? <OutcomePill outcome={outcomeOf(result)} /> : <OutcomePill outcome={null} />}</td>
                  <td className={result?.error ? 'sev-error small' : 'soft small'}>{result ? (result.error?.message ?? reason(result.explanation?.sentence)) : 'the context is not a JSON object'}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </>
  )
}
