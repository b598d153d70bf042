import type { SessionDetail } from '../../api/types.ts'
import { OutcomePill } from '../../why/OutcomePill.tsx'
import { WhyTree } from '../../why/WhyTree.tsx'

type Step = SessionDetail['steps'][number]

/** The steps in the order of the document, each with the evaluation of its conditions. The active one is ringed, even when its conditions no longer match. */
export function GateSteps({ session }: { session: SessionDetail }) {
  return (
    <>
      <h2 className="ctx-h">Steps <span className="muted light">in order; the first step whose conditions all match becomes active</span></h2>
      <ol className="arms">
        {session.steps.map((step, index) => <GateStep key={step.step} step={step} position={index + 1} />)}
      </ol>
    </>
  )
}

function GateStep({ step, position }: { step: Step; position: number }) {
  const isOpen = step.holds === null || step.holds === undefined
  const classes = ['arm', step.active ? 'is-taken' : '', isOpen && !step.active ? 'is-open' : ''].filter(Boolean).join(' ')
  return (
    <li className={classes}>
      <div className="arm-head">
        <span className="num muted small">{position}</span>
        {step.explanation || !step.is_default ? <OutcomePill outcome={isOpen ? null : (step.holds ?? null)} /> : <span className="outcome outcome-none">default</span>}
        <b className="clip">{step.step}</b>
        {step.active && <span className="tag tag-fill">active</span>}
        {step.is_default && <span className="soft small clip">initial step; never used as a fallback</span>}
        <span className="grow" />
        <span className="soft small mono11 clip">{toolsOf(step)}</span>
      </div>
      {step.explanation && <div className="arm-body"><WhyTree part={step.explanation.tree} /></div>}
    </li>
  )
}

function toolsOf(step: Step): string {
  const allowed = step.allowed.length === 0 ? 'all tools' : step.allowed.join(', ')
  return step.denied.length === 0 ? allowed : `${allowed} without ${step.denied.join(', ')}`
}
