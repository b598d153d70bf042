import { GitFork, RotateCcw } from 'lucide-react'
import { useState } from 'react'
import { Link, useNavigate } from '@tanstack/react-router'
import type { RunDetail } from '../../api/types.ts'
import { useCan } from '../../app/useCan.ts'
import { Button } from '../../ui/Button.tsx'
import { plural } from '../../ui/format.ts'
import { StatusIcon } from '../../ui/StatusIcon.tsx'
import { ForkDialog } from './ForkDialog.tsx'
import { useRunActions } from './RunActions.tsx'
import type { TraceStore } from './traceStore.ts'

/** What failed, after how many attempts, and what can be done about it. */
export function FailedRun({ run, store, withRetry, onOpen }: { run: RunDetail; store: TraceStore; withRetry?: boolean; onOpen: (key: string) => void }) {
  const navigate = useNavigate()
  const [forks, setForks] = useState(false)
  const { retry } = useRunActions(run)
  const mayOperate = useCan('operate')
  const { error } = run
  if (!error) return null
  const step = error.step ? store.executions(error.step).filter((execution) => execution.status === 'failed').at(-1) : undefined
  const attempts = step && step.attempts.length > 0 ? ` after ${plural(step.attempts.length, 'attempt')}` : ''
  return (
    <div className="failcard" role="note">
      <StatusIcon status="failed" />
      <div className="grow">
        <p><button type="button" className="failed-step" onClick={() => step && onOpen(step.key)}>{error.step ?? 'The run'}</button> failed: {error.message}</p>
        <p className="small soft">{error.kind}{attempts}. Completed steps were recorded.</p>
      </div>
      <span className="row">
        {withRetry && mayOperate && <Button small look="primary" icon={RotateCcw} action onClick={retry}>Retry {error.step ?? ''}</Button>}
        {mayOperate && step && <Button small icon={GitFork} action onClick={() => setForks(true)}>Fork before {step.step}</Button>}
        <Link className="link small" to="/docs/$kind" params={{ kind: error.kind }}>About {error.kind}</Link>
      </span>
      {forks && step && <ForkDialog run={run} step={step} onClose={() => setForks(false)} onForked={(id) => void navigate({ to: '/runs/$id', params: { id }, search: {} })} />}
    </div>
  )
}
