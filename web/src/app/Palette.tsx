import { useQuery } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { FlaskConical, Play, Search, Settings, UserRoundCheck, Workflow } from 'lucide-react'
import { Dialog as Base } from '@base-ui/react/dialog'
import { type KeyboardEvent, type ReactNode, useMemo, useState } from 'react'
import { approvalsQuery, recentRunsQuery, workflowsQuery } from '../api/queries.ts'
import type { Step } from '../api/types.ts'
import { traceStore } from '../pages/run/traceStore.ts'
import { stepLabel } from '../ui/format.ts'
import { fuzzyScore } from '../ui/fuzzy.ts'
import { Icon } from '../ui/icons.tsx'
import { StatusIcon } from '../ui/StatusIcon.tsx'
import { NAVIGATION } from './TopBar.tsx'
import { takeTyped } from './typeAhead.ts'
import { useCan } from './useCan.ts'

interface Entry {
  id: string
  group: 'Go to' | 'Commands'
  icon: ReactNode
  label: string
  note?: string
  path: string
}

const RECENT = 'palette-recent'

/** Runs, workflows, approvals and commands. Works with the keyboard alone and remembers the last five entries. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const entries = useEntries()
  const found = useMemo(() => search(entries, text), [entries, text])
  const choose = (entry: Entry | undefined) => {
    if (!entry) return
    remember(entry.id)
    onClose()
    void navigate({ href: entry.path })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt((found.length + at + step) % Math.max(1, found.length))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      choose(found[at])
    }
  }
  return (
    <Base.Root open onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="scrim" />
        <Base.Popup className="menu palette-popup" aria-label="Command palette">
          <div className="row palette-head">
            <Icon of={Search} />
            <input
              autoFocus className="grow" value={text} placeholder="Search or type a command" aria-label="Search or type a command" role="combobox"
              aria-expanded aria-controls="palette-list" aria-activedescendant={found[at] ? `palette-${at}` : undefined}
              onChange={(event) => {
                setText(event.target.value)
                setAt(0)
              }}
              onFocus={() => {
                const typed = takeTyped()
                if (typed !== '') setText((text) => text + typed)
              }}
              onKeyDown={onKeyDown}
            />
            <kbd>Esc</kbd>
          </div>
          <div id="palette-list" role="listbox" aria-label="Results" className="palette-list">
            {found.map((entry, index) => (
              <div key={entry.id}>
                {entry.group !== found[index - 1]?.group && <p className="label palette-group">{entry.group}</p>}
                <div
                  id={`palette-${index}`} role="option" aria-selected={index === at} className={`mi${index === at ? ' on' : ''}`}
                  onMouseMove={() => setAt(index)} onClick={() => choose(entry)}
                >
                  {entry.icon}<span className="clip">{entry.label}</span>
                  {entry.note && <span className="muted small">{entry.note}</span>}
                  <span className="grow" />
                  {index === at && <kbd>Enter</kbd>}
                </div>
              </div>
            ))}
            {found.length === 0 && <p className="soft palette-none">Nothing matches “{text}”.</p>}
          </div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

function useEntries(): Entry[] {
  const canStart = useCan('operate')
  const canEdit = useCan('edit')
  const isAdmin = useCan('administer')
  const path = useLocation().pathname
  const openRun = /^\/runs\/([^/]+)$/.exec(path)?.[1]
  const steps = useMemo(() => stepsOf(openRun), [openRun])
  const runs = useQuery(recentRunsQuery(50)).data?.items
  const workflows = useQuery(workflowsQuery()).data?.items
  const approvals = useQuery(approvalsQuery('mine')).data?.items
  return useMemo(() => {
    const entries: Entry[] = []
    for (const run of runs ?? []) {
      entries.push({ id: `run:${run.id}`, group: 'Go to', icon: <StatusIcon status={run.status} />, label: run.id, note: `run of ${run.workflow}`, path: `/runs/${encodeURIComponent(run.id)}` })
    }
    for (const workflow of workflows ?? []) {
      const path = `/workflows/${encodeURIComponent(workflow.name)}`
      entries.push({ id: `workflow:${workflow.name}`, group: 'Go to', icon: <Icon of={Workflow} />, label: workflow.name, note: `workflow, ${workflow.dialect}`, path })
      if (canStart && workflow.dialect !== 'session') entries.push({ id: `start:${workflow.name}`, group: 'Commands', icon: <Icon of={Play} />, label: `Run ${workflow.name}`, path: `${path}?run=${encodeURIComponent(workflow.name)}` })
    }
    for (const approval of approvals ?? []) {
      entries.push({ id: `answer:${approval.key}`, group: 'Commands', icon: <Icon of={UserRoundCheck} />, label: `Answer ${approval.step} in ${approval.run}`, path: `/approvals/${approval.key.split('/').map(encodeURIComponent).join('/')}` })
    }
    for (const page of NAVIGATION) entries.push({ id: `page:${page.to}`, group: 'Go to', icon: <Icon of={Search} />, label: page.label, note: 'page', path: page.to })
    for (const section of isAdmin ? ['people', 'tokens', 'secrets', 'providers', 'webhooks', 'audit', 'doctor'] : ['people']) {
      entries.push({ id: `settings:${section}`, group: 'Go to', icon: <Icon of={Settings} />, label: `Settings: ${section}`, note: 'page', path: `/settings/${section}` })
    }
    for (const step of steps) {
      entries.push({ id: `step:${openRun}:${step.key}`, group: 'Go to', icon: <StatusIcon status={step.status} />, label: step.label, note: 'step of this run', path: `/runs/${openRun}?step=${encodeURIComponent(step.label)}` })
    }
    if (canEdit) entries.push({ id: 'new', group: 'Commands', icon: <Icon of={Workflow} />, label: 'New workflow', path: '/workflows?new=template' })
    entries.push({ id: 'try', group: 'Commands', icon: <Icon of={FlaskConical} />, label: 'Try a condition', path: '/playground' })
    return entries
  }, [runs, workflows, approvals, steps, canStart, canEdit, isAdmin, openRun])
}

const MAX_STEPS = 500

/** The steps of the open run that the page has loaded. */
function stepsOf(run: string | undefined): { key: string; label: string; status: Step['status'] }[] {
  if (run === undefined) return []
  const steps = [...traceStore(decodeURIComponent(run)).allSteps()].slice(0, MAX_STEPS)
  return steps.map((step) => ({ key: step.key, label: stepLabel(step), status: step.status }))
}

function search(entries: Entry[], text: string): Entry[] {
  const recent = remembered()
  const scored = entries.map((entry) => {
    const bonus = recent.includes(entry.id) ? 5 - recent.indexOf(entry.id) : 0
    const score = text === '' ? bonus + (entry.id.startsWith('page:') ? 1 : 0) : fuzzyScore(text, `${entry.label} ${entry.note ?? ''}`)
    return { entry, score: score === null ? null : score + bonus }
  })
  const kept = scored.filter((candidate): candidate is { entry: Entry; score: number } => candidate.score !== null)
  kept.sort((left, right) => right.score - left.score)
  const best = kept.slice(0, 12).map((candidate) => candidate.entry)
  return [...best.filter((entry) => entry.group === 'Go to'), ...best.filter((entry) => entry.group === 'Commands')]
}

function remembered(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(RECENT) ?? '[]')
    return Array.isArray(list) ? list.filter((id): id is string => typeof id === 'string') : []
  } catch {
    return []
  }
}

function remember(id: string): void {
  localStorage.setItem(RECENT, JSON.stringify([id, ...remembered().filter((other) => other !== id)].slice(0, 5)))
}
