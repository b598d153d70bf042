import { useQuery } from '@tanstack/react-query'
import type { Step } from '../../api/types.ts'
import { shortValue } from '../../ui/format.ts'
import { OutcomePill } from '../../why/OutcomePill.tsx'
import { itemText } from './iterations.ts'
import { mainDecision } from './runStates.ts'
import { fetchSteps } from './traceRequests.ts'

const MOST = 50

/** The same decision in the other rounds of its loop. */
export function OtherRounds({ run, step, onOpen }: { run: string; step: Step; onOpen: (key: string) => void }) {
  const others = useQuery({
    queryKey: ['rounds', run, step.step],
    queryFn: async () => (await fetchSteps(run, { step: step.step, limit: MOST }, null)).steps.filter((other) => other.step === step.step && mainDecision(other)),
  })
  const rows = (others.data ?? []).filter((other) => sameOuterRounds(other, step))
  if (rows.length < 2) return null
  return (
    <>
      <p className="section">This decision in other iterations</p>
      <div className="values">
        <table className="mini">
          <tbody>
            {rows.map((other) => {
              const decision = mainDecision(other)
              const round = other.iterations.at(-1)
              return (
                <tr key={other.key} className="clickable" aria-selected={other.key === step.key} onClick={() => onOpen(other.key)}>
                  <td className="num"><button type="button" onClick={() => onOpen(other.key)}>[{round?.index}]</button></td>
                  <td><code>{itemText(round?.item)}</code></td>
                  <td>{isTruth(other) ? <OutcomePill outcome={truthOf(other)} /> : <span className="small">{decision?.chosen ?? other.branch}</span>}</td>
                  <td className="clip"><code>{decision?.values[0] ? shortValue(decision.values[0].value, 60) : ''}</code></td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </>
  )
}

function sameOuterRounds(other: Step, step: Step): boolean {
  return other.iterations.slice(0, -1).every((iteration, index) => step.iterations[index]?.index === iteration.index)
}

function isTruth(step: Step): boolean {
  return step.type === 'gate'
}

function truthOf(step: Step): 'true' | 'false' | 'error' {
  if (step.status === 'failed') return 'error'
  return step.branch === 'blocked' ? 'false' : 'true'
}
