import { ArrowRight, ChevronDown, ChevronRight } from 'lucide-react'
import { useState } from 'react'
import type { BranchOfDecision, BranchOutcome, Decision, Part } from '../../api/types.ts'
import { NOT_TAKEN } from '../../graph/states.ts'
import { Icon } from '../../ui/icons.tsx'
import { OutcomePill } from '../../why/OutcomePill.tsx'
import { WhyTree } from '../../why/WhyTree.tsx'

const MOST = 8

/** The branches in the order of evaluation: the taken one ringed and open, later ones dashed. */
export function BranchList({ decision, onHover, onOpen }: { decision: Decision; onHover?: (part: Part | null) => void; onOpen?: (target: string) => void }) {
  const [decidingOnly, setDecidingOnly] = useState(false)
  const [isWhole, setWhole] = useState(false)
  const canFilter = decision.branches.some((branch) => (branch.tree?.children.length ?? 0) > 2)
  const branches = isWhole || decision.branches.length <= MOST ? decision.branches : decision.branches.filter((branch, index) => index < 4 || branch.name === decision.chosen || index === decision.branches.length - 1)
  const hidden = decision.branches.length - branches.length
  return (
    <>
      {canFilter && <label className="check-line small deciding"><input type="checkbox" checked={decidingOnly} onChange={(event) => setDecidingOnly(event.target.checked)} />Deciding only</label>}
      <ol className="arms" aria-label="Branches">
        {branches.map((branch) => <BranchCard key={branch.name} branch={branch} decision={decision} decidingOnly={decidingOnly} onHover={onHover} onOpen={onOpen} />)}
      </ol>
      {hidden > 0 && <button type="button" className="link small" onClick={() => setWhole(true)}>Show {hidden} more branches</button>}
    </>
  )
}

function BranchCard({ branch, decision, decidingOnly, onHover, onOpen }: {
  branch: BranchOfDecision
  decision: Decision
  decidingOnly: boolean
  onHover?: (part: Part | null) => void
  onOpen?: (target: string) => void
}) {
  const isTaken = branch.name === decision.chosen
  const isEvaluated = branch.outcome !== 'not_evaluated'
  const hasBody = branch.tree != null || branch.error != null || (branch.condition != null && isEvaluated)
  const [isOpen, setOpen] = useState(isTaken || branch.outcome === 'error' || (branch.outcome === 'false' && decision.branches.length <= 3))
  const outcome: BranchOutcome | null = isEvaluated ? branch.outcome : null
  const head = (
    <>
      {!(isTaken && branch.condition == null) && <OutcomePill outcome={outcome} none={decision.kind === 'gate' ? NOT_TAKEN : undefined} />}
      <b className="clip" title={branch.name}>{branch.name}</b>
      {branch.targets.length > 0 && <span className="to"><Icon of={ArrowRight} size={13} /><Targets targets={branch.targets} onOpen={onOpen} /></span>}
      <span className="grow" />
      {isTaken && <span className="tag tag-fill">taken</span>}
    </>
  )
  return (
    <li className={`arm${isTaken ? ' is-taken' : ''}${!isEvaluated && !isTaken ? ' is-open' : ''}`}>
      <div className="arm-head">
        {head}
        {hasBody && (
          <button type="button" className="fold muted" aria-expanded={isOpen} aria-label={`${isOpen ? 'Collapse' : 'Expand'} ${branch.name}`} onClick={() => setOpen(!isOpen)}>
            <Icon of={isOpen ? ChevronDown : ChevronRight} size={14} />
          </button>
        )}
      </div>
      {hasBody && isOpen && (
        <div className="arm-body">
          {branch.tree ? <WhyTree part={branch.tree} decidingOnly={decidingOnly} onHover={onHover} /> : branch.condition && <p className="arm-words">{branch.condition}</p>}
          {branch.error && !branch.tree?.error && <p className="expl-err">{branch.error.message}</p>}
        </div>
      )}
    </li>
  )
}

function Targets({ targets, onOpen }: { targets: string[]; onOpen?: (target: string) => void }) {
  return (
    <>
      {targets.map((target, index) => (
        <span key={target}>
          {index > 0 && ', '}
          {onOpen ? <button type="button" className="target" onClick={() => onOpen(target)}>{target}</button> : target}
        </span>
      ))}
    </>
  )
}
