import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowRight } from 'lucide-react'
import { Fragment } from 'react'
import { type ApprovalRecord, type Outcome, outcomesQuery, splitKey } from '../../api/approvals.ts'
import { isRecord } from '../../api/client.ts'
import { clock, formatDuration, formatWhen, joinNames, shortValue } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { reason, Sentence } from '../../ui/Sentence.tsx'
import { serverNow } from '../../ui/clock.ts'
import { Cost, Tokens, When } from '../../ui/Values.tsx'

/** Why an approval is needed, what happens next, and the run. */
export function Context({ approval }: { approval: ApprovalRecord }) {
  return (
    <div className="panel-body context">
      <Why approval={approval} />
      <Next approval={approval} />
      <AboutRun approval={approval} />
    </div>
  )
}

/** The chain of decisions that led to the approval. */
export function Why({ approval }: { approval: ApprovalRecord }) {
  const [run] = splitKey(approval.key)
  const decisions = approval.decisions ?? []
  return (
    <section aria-labelledby="why-approval">
      <h2 className="ctx-h" id="why-approval">Why this needs approval</h2>
      {approval.decisions?.length === 0 && <p className="soft ctx-none">No decision came before it: every run of {approval.workflow} asks here.</p>}
      <ol className="chain">
        {decisions.map((decision, index) => (
          <li key={index} className={index === decisions.length - 1 ? 'last' : ''}>
            <div className="row chain-head">
              <b className="clip">{decision.step}</b>
              {decision.branch && <><Icon of={ArrowRight} size={12} /><b className="clip">{decision.branch}</b></>}
            </div>
            {decision.sentence && <p><Sentence text={reason(decision.sentence)} /></p>}
          </li>
        ))}
      </ol>
      <Link className="link small" to="/runs/$id" params={{ id: run }} search={{ step: approval.step }}>Open run at this step</Link>
    </section>
  )
}

/** Where each choice, and the timeout, leads. Left out if the program cannot determine it. */
function Next({ approval }: { approval: ApprovalRecord }) {
  const outcomes = useQuery(outcomesQuery(approval.key)).data ?? []
  if (outcomes.length === 0) return null
  return (
    <section aria-labelledby="what-next">
      <h2 className="ctx-h" id="what-next">What happens next</h2>
      <div className="values then" role="list">
        {outcomes.map((outcome) => (
          <div key={`${outcome.choice} ${outcome.is_timeout}`} role="listitem">
            <b className="clip">{outcome.choice}</b>
            {outcome.at && <span className="muted small num">at {clock(new Date(outcome.at))}</span>}
            <span className="grow" />
            <Path outcome={outcome} from={approval.step} />
          </div>
        ))}
      </div>
    </section>
  )
}

const ENDS: Record<string, string> = { completed: 'the run completes', failed: 'the run fails', cancelled: 'the run is cancelled' }

/** The decisions on the way and the step that begins next; the explanations are in the tooltip. */
function Path({ outcome, from }: { outcome: Outcome; from: string }) {
  const steps = [...(outcome.decisions ?? []).map((decision) => decision.step), ...outcome.leads_to].filter((step, index, all) => step !== all[index - 1] && !(index === 0 && step === from))
  const why = (outcome.decisions ?? []).map((decision) => `${decision.step} → ${decision.branch ?? ''}: ${reason(decision.sentence)}`).join('\n')
  const end = ENDS[outcome.ends ?? '']
  return (
    <span className="row then-path" title={why || undefined}>
      {steps.map((step, index) => (
        <Fragment key={index}>
          {index > 0 && <Icon of={ArrowRight} size={12} />}
          <span className="soft small clip">{step}</span>
        </Fragment>
      ))}
      {outcome.leads_to.length === 0 && end && <>{steps.length > 0 && <Icon of={ArrowRight} size={12} />}<span className="soft small">{end}</span></>}
    </span>
  )
}

const SHOWN_INPUTS = 5
const SHOWN_PEOPLE = 4

/** `ada, bob and 28 more` */
function peopleText(people: string[]): string {
  if (people.length <= SHOWN_PEOPLE + 1) return joinNames(people)
  return joinNames([...people.slice(0, SHOWN_PEOPLE), `${people.length - SHOWN_PEOPLE} more`])
}

function AboutRun({ approval }: { approval: ApprovalRecord }) {
  const [run] = splitKey(approval.key)
  const inputs = isRecord(approval.input) ? Object.entries(approval.input).filter(([, value]) => value !== null && !(isRecord(value) && Object.keys(value).length === 0)) : approval.input === undefined || approval.input === null ? [] : [['input', approval.input] as const]
  const now = new Date(serverNow())
  return (
    <section aria-labelledby="about-run">
      <h2 className="ctx-h" id="about-run">Run</h2>
      <dl className="kv">
        <dt>Run</dt><dd><Link className="link" to="/runs/$id" params={{ id: run }}>{run}</Link></dd>
        <dt>Requested</dt><dd><When at={approval.requested} />{approval.recipients && <>, from {peopleText(approval.recipients)}</>}</dd>
        {approval.reminder && (
          <><dt>Reminders</dt><dd>Up to {approval.reminder.max}{approval.reminder.next ? `, next ${formatWhen(new Date(approval.reminder.next), now)}` : `, every ${formatDuration(approval.reminder.interval_ms)}`}</dd></>
        )}
        {approval.escalation && (
          <><dt>Escalation</dt><dd>{approval.escalation.escalated ? 'Escalated to' : 'To'} {joinNames(approval.escalation.users)} {formatWhen(new Date(approval.escalation.at), now)}</dd></>
        )}
        {approval.veto && approval.veto.length > 0 && <><dt>Veto</dt><dd>{joinNames(approval.veto)}</dd></>}
        {approval.excluded && <><dt>Excluded</dt><dd>{approval.excluded}, who started the run</dd></>}
        {inputs.slice(0, SHOWN_INPUTS).map(([name, value]) => (
          <Fragment key={name}>
            <dt className="clip">{name === 'input' ? 'Input' : name}</dt>
            <dd title={shortValue(value, 500)}>{name === 'input' && typeof value === 'string' ? value : <code>{typeof value === 'string' ? value : shortValue(value, 80)}</code>}</dd>
          </Fragment>
        ))}
        {approval.usage && (approval.usage.tokens > 0 || approval.usage.cost_micros > 0) && (
          <><dt>Usage</dt><dd className="num"><Tokens count={approval.usage.tokens} unit />{approval.usage.cost_micros > 0 && <>, <Cost micros={approval.usage.cost_micros} /></>}</dd></>
        )}
      </dl>
    </section>
  )
}
