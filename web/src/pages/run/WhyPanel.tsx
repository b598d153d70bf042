import { FlaskConical, GitFork } from 'lucide-react'
import { useState } from 'react'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCan } from '../../app/useCan.ts'
import type { BranchOfDecision, Decision, Part, RunDetail, Step } from '../../api/types.ts'
import { Button } from '../../ui/Button.tsx'
import { formatDuration, plural } from '../../ui/format.ts'
import { Sentence } from '../../ui/Sentence.tsx'
import { BranchList } from './BranchList.tsx'
import { ForkDialog } from './ForkDialog.tsx'
import { OtherRounds } from './OtherRounds.tsx'
import { mainDecision } from './runStates.ts'
import type { SourceSpan } from './CodeLines.tsx'
import { SourceLines } from './SourceLines.tsx'
import type { TraceStore } from './traceStore.ts'
import { ValuesUsed } from './ValuesUsed.tsx'
import { WhatIf } from './WhatIf.tsx'
import { WhatNext } from './WhatNext.tsx'
import { SKIPPED } from './words.ts'

interface WhyProps {
  run: RunDetail
  step: Step
  store: TraceStore
  onOpen: (key: string) => void
}

/** Why a step took its branch, failed, was skipped, or ended: the words of the engine, and what it evaluated. */
export function WhyPanel({ run, step, store, onOpen }: WhyProps) {
  const main = mainDecision(step)
  const [shown, setShown] = useState<number | null>(null)
  const [hovered, setHovered] = useState<Part | null>(null)
  const [dialog, setDialog] = useState<'fork' | 'what-if' | null>(null)
  const navigate = useNavigate()
  const mayOperate = useCan('operate')
  const decision = shown === null ? main ?? step.decisions.at(-1) : step.decisions[shown]
  const number = decision ? step.decisions.indexOf(decision) + 1 : 0
  const hasConditions = decision?.branches.some((branch) => branch.tree) ?? false
  return (
    <>
      {step.error && <ErrorText step={step} />}
      {step.status === 'skipped' && <p className="why-line">{skippedText(step)}</p>}
      {decision && (
        <>
          <p className="label took">{headline(decision, step)}</p>
          <p className="why-line"><Sentence text={decision.sentence} whole paths={decision.values.map((value) => value.path)} /></p>
          <BranchList decision={decision} onHover={setHovered} onOpen={(target) => openTarget(target, step, store, onOpen)} />
          {decision.values.length > 0 && <ValuesUsed decision={decision} step={step} store={store} onOpen={onOpen} />}
        </>
      )}
      {decision && <WhatNext step={step} decision={decision} store={store} onOpen={onOpen} />}
      {step.iterations.length > 0 && main && <OtherRounds run={run.id} step={step} onOpen={onOpen} />}
      {step.decisions.length > 1 && <AllDecisions step={step} shown={number - 1} onShow={setShown} />}
      <SourceLines run={run} span={step.span ?? null} line={lineOf(decision)} mark={spanOf(hovered)} />
      {step.status !== 'skipped' && (
        <div className="row why-actions">
          {hasConditions && <Button small icon={FlaskConical} onClick={() => setDialog('what-if')}>Try other values</Button>}
          {mayOperate && <Button small icon={GitFork} action onClick={() => setDialog('fork')}>Fork from here</Button>}
        </div>
      )}
      {dialog === 'fork' && <ForkDialog run={run} step={step} onClose={() => setDialog(null)} onForked={(id) => void navigate({ to: '/runs/$id', params: { id }, search: {} })} />}
      {dialog === 'what-if' && decision && <WhatIf run={run} step={step} decision={decision} number={number} onClose={() => setDialog(null)} />}
    </>
  )
}

function headline(decision: Decision, step: Step) {
  const { chosen, branches, position } = decision
  if (step.type === 'gate') return <>Gate result: <b className="soft">{step.branch ?? chosen ?? 'failed'}</b></>
  if (chosen == null) return <>No branch taken</>
  const at = position ?? branches.findIndex((branch) => branch.name === chosen) + 1
  if (decision.kind === 'loop' || decision.kind === 'retry') return <>{decision.kind === 'loop' ? 'Loop' : 'Retry'}: <b className="soft">{chosen}</b></>
  return <>Took <b className="soft">{chosen}</b>{branches.length > 1 && at > 0 && `, branch ${at} of ${branches.length}`}</>
}

function ErrorText({ step }: { step: Step }) {
  const { error } = step
  if (!error) return null
  return (
    <div className="step-error" role="note">
      <p><b>{error.message}</b></p>
      <p className="small"><Link className="link" to="/docs/$kind" params={{ kind: error.kind }}>About {error.kind}</Link>{step.attempts.length > 0 && <span className="muted"> · after {plural(step.attempts.length, 'attempt')}{step.took_ms != null && `, ${formatDuration(step.took_ms)}`}</span>}</p>
    </div>
  )
}

function skippedText(step: Step): string {
  const words = SKIPPED[step.reason ?? '']
  return words ? `Skipped: ${words}.` : 'Skipped.'
}

/** The line of the chosen branch, or of the first branch with a line. */
function lineOf(decision: Decision | undefined): number | null {
  const taken = decision?.branches.find((branch: BranchOfDecision) => branch.name === decision.chosen)
  return taken?.line ?? decision?.branches.find((branch) => branch.line != null)?.line ?? null
}

function openTarget(target: string, step: Step, store: TraceStore, onOpen: (key: string) => void): void {
  const path = (other: Step) => other.iterations.every((iteration, index) => step.iterations[index] === undefined || step.iterations[index]?.index === iteration.index)
  const found = store.executions(target).filter(path).at(-1)
  onOpen(found?.key ?? `${target}#1`)
}

/** Steps that decided several times: retries, rounds of a loop, transitions. */
function AllDecisions({ step, shown, onShow }: { step: Step; shown: number; onShow: (index: number) => void }) {
  return (
    <>
      <p className="section">Decisions of this step <span className="count">{step.decisions.length + step.decisions_omitted}</span></p>
      <div className="values decisions-list">
        {step.decisions.map((decision, index) => (
          <button key={index} type="button" aria-pressed={index === shown} onClick={() => onShow(index)}>
            <b className="small">{decision.kind}</b><span className="clip small soft grow">{decision.sentence}</span><span className="muted small">{decision.chosen}</span>
          </button>
        ))}
        {step.decisions_omitted > 0 && <div className="muted small">{plural(step.decisions_omitted, 'decision')} between the first and the last are not shown</div>}
      </div>
    </>
  )
}

function spanOf(part: Part | null): SourceSpan | null {
  return part?.start != null && part.end != null ? { start: part.start, end: part.end } : null
}
