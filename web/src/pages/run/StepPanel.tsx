import { useQuery } from '@tanstack/react-query'
import { ChevronLeft, ChevronRight, Link2, X } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { stepQuery } from '../../api/queries.ts'
import type { DrawingNode, RunDetail, Step } from '../../api/types.ts'
import { IconButton } from '../../ui/Button.tsx'
import { copyText } from '../../ui/clipboard.ts'
import { Icon, isDecisionType, stepIcon } from '../../ui/icons.tsx'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { AttemptsTab } from './AttemptsTab.tsx'
import { PlannedPanel } from './PlannedPanel.tsx'
import { mainDecision } from './runStates.ts'
import { SourceTab } from './SourceTab.tsx'
import type { TraceStore } from './traceStore.ts'
import type { RunView, Tab } from './useRunView.ts'
import { OutputTab, ValueTab } from './ValueTab.tsx'
import { VotesTab } from './VotesTab.tsx'
import { WhyPanel } from './WhyPanel.tsx'

export interface PanelProps {
  run: RunDetail
  view: RunView
  store: TraceStore
  step: Step | undefined
  node: DrawingNode | undefined
  isLost: boolean
  onClose: () => void
  /** Opens the same step in a neighbouring round; null outside of loops. */
  onRound: ((by: 1 | -1) => void) | null
  onOpen: (key: string) => void
  /** Moves the focus to the title: the step was opened by keyboard. */
  takesFocus: boolean
}

/** Everything about one step: why, input, output, attempts, votes, source. A tab is shown only if it has content. */
export function StepPanel(props: PanelProps) {
  const { run, view, step, node, isLost, store } = props
  if (!step && view.planned) return <Frame {...props} title={view.planned.title} kind={view.planned.kind} type={view.planned.kind}><PlannedPanel node={view.planned} run={run} /></Frame>
  if (!step) {
    const what = view.selected?.kind === 'step' ? view.selected.key : 'this step'
    return <Frame {...props} title="Step" kind="" type="">{isLost ? <Failed what={`step ${what}`} error={`Run ${run.id} has no step ${what}.`} /> : <SkeletonRows />}</Frame>
  }
  const round = step.iterations[step.iterations.length - 1]
  const kind = `${step.type}${round ? ` in ${round.loop} [${round.index}]` : ''}${step.run > 1 && !round ? ` · execution ${step.run}` : ''}`
  return <Frame {...props} title={step.name ?? step.step} kind={kind} type={step.type} shape={node?.shape}><StepBody key={step.key} run={run} view={view} step={step} store={store} onOpen={props.onOpen} /></Frame>
}

function Frame({ title, kind, type, shape, children, onClose, onRound, takesFocus, view }: PanelProps & { title: string; kind: string; type: string; shape?: DrawingNode['shape']; children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (takesFocus) heading.current?.focus()
  }, [takesFocus, view.selected])
  const isDecision = shape === 'decision' || isDecisionType(type)
  return (
    <aside className="panel" aria-label={`Step ${title}`}>
      <div className="panel-head">
        <span className={`tile ${isDecision ? 'dia' : shape === 'approval' ? 'round' : 'small'}`}><Icon of={stepIcon(type, shape ?? (isDecision ? 'decision' : undefined))} size={isDecision ? 11 : 14} /></span>
        <h2 ref={heading} tabIndex={-1} className="clip" title={title}>{title}</h2>
        <span className="muted clip">{kind}</span>
        <span className="grow" />
        {onRound && <><IconButton label="Previous iteration" icon={ChevronLeft} onClick={() => onRound(-1)} /><IconButton label="Next iteration" icon={ChevronRight} onClick={() => onRound(1)} /></>}
        {!onRound && <IconButton label="Copy link to this step" icon={Link2} onClick={() => void copyText(location.href, 'the link')} />}
        <IconButton label="Close panel" icon={X} onClick={onClose} />
      </div>
      {children}
    </aside>
  )
}

const LABELS: Record<Tab, string> = { why: 'Why', input: 'Input', output: 'Output', attempts: 'Attempts', votes: 'Votes', source: 'Source' }

/** The newest record of a step with the values of its full record; one that was loaded to find the step may have older ones. */
function withValues(step: Step, full: Step): Step {
  return { ...full, ...step, decisions: full.decisions, input: full.input, output: full.output, tool_calls: full.tool_calls }
}

function StepBody({ run, view, step, store, onOpen }: Pick<PanelProps, 'run' | 'view' | 'store' | 'onOpen'> & { step: Step }) {
  const full = useQuery(stepQuery(run.id, step.key))
  const text = store.text(step.key)
  // The newest status comes from the stream, values and evaluation trees from the full record.
  const detail: Step = full.data ? withValues(step, full.data) : step
  const tabs = tabsOf(detail, text !== undefined)
  const tab = view.tab && tabs.includes(view.tab) ? view.tab : text !== undefined && !tabs.includes('why') ? 'output' : tabs[0] ?? 'source'
  return (
    <>
      <div className="tabs" role="tablist" aria-label="About this step">
        {tabs.map((name) => (
          <button key={name} type="button" role="tab" id={`tab-${name}`} aria-selected={name === tab} aria-controls="step-tab" tabIndex={name === tab ? 0 : -1} onClick={() => view.setTab(name)} onKeyDown={(event) => moveTab(event, tabs, name, view.setTab)}>
            {LABELS[name]}{name === 'source' && step.span && <small className="num">{step.span.line}</small>}{name === 'attempts' && <small className="num">{detail.attempts.length}</small>}
          </button>
        ))}
      </div>
      <div className="panel-body" id="step-tab" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {full.isLoadingError && <Failed what="this step" error={full.error} onRetry={() => void full.refetch()} />}
        {full.isPending && tab !== 'source' && text === undefined && <SkeletonRows rows={5} />}
        {full.data && tab === 'why' && <WhyPanel run={run} step={detail} store={store} onOpen={onOpen} />}
        {full.data && tab === 'input' && <ValueTab run={run.id} step={detail} field="input" />}
        {(full.data || text !== undefined) && tab === 'output' && <OutputTab run={run.id} step={detail} text={text} />}
        {full.data && tab === 'attempts' && <AttemptsTab step={detail} />}
        {full.data && tab === 'votes' && <VotesTab run={run} step={detail} />}
        {tab === 'source' && <SourceTab run={run} step={step} />}
      </div>
    </>
  )
}

function tabsOf(step: Step, streams: boolean): Tab[] {
  const tabs: Tab[] = []
  const main = mainDecision(step)
  const isApproval = main?.kind === 'approval' || step.status === 'waiting_people' && !step.has_children
  if (step.decisions.length > 0 || step.error || step.status === 'skipped') tabs.push('why')
  if (isApproval) tabs.push('votes')
  if (step.input != null && step.input !== '') tabs.push('input')
  if (streams || (step.output != null && step.output !== '') || (step.tool_calls?.length ?? 0) > 0 || step.child_runs.length > 0) tabs.push('output')
  if (step.attempts.length > 0) tabs.push('attempts')
  tabs.push('source')
  return tabs
}

function moveTab(event: React.KeyboardEvent, tabs: Tab[], from: Tab, setTab: (tab: Tab) => void): void {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (by === undefined) return
  event.preventDefault()
  const next = tabs[(tabs.indexOf(from) + by + tabs.length) % tabs.length]
  if (next === undefined) return
  setTab(next)
  requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus())
}
