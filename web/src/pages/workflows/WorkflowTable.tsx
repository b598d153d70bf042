import { Link, useNavigate } from '@tanstack/react-router'
import { CircleAlert, Ellipsis, Play, Repeat, Split, Square, UserRound } from 'lucide-react'
import { type MouseEvent, useState } from 'react'
import { useCan } from '../../app/useCan.ts'
import type { RunStatus, Structure, WorkflowSummary } from '../../api/types.ts'
import { IconButton } from '../../ui/Button.tsx'
import { plural } from '../../ui/format.ts'
import { Icon, type IconComponent } from '../../ui/icons.tsx'
import { Menu } from '../../ui/Menu.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { useDrafts } from '../workflow/draft/draftsQuery.ts'
import type { DraftRecord } from '../workflow/draft/draftRecords.ts'
import { STATUS_LABEL } from '../../ui/StatusIcon.tsx'
import { When } from '../../ui/Values.tsx'

export function WorkflowTable({ workflows }: { workflows: WorkflowSummary[] }) {
  const navigate = useNavigate()
  const drafts = useDrafts()
  const [at, setAt] = useState(-1)
  const open = (workflow: WorkflowSummary | undefined) => workflow && void navigate({ to: '/workflows/$name', params: { name: workflow.name } })
  const canStart = useCan('operate')
  const start = (name: string) => void navigate({ to: '.', search: (old) => ({ ...old, run: name }) as never })
  useShortcuts([
    { keys: 'j', label: 'Next workflow', run: () => setAt(Math.min(workflows.length - 1, at + 1)) },
    { keys: 'k', label: 'Previous workflow', run: () => setAt(Math.max(0, at - 1)) },
    { keys: 'Enter', label: 'Open the selected workflow', run: () => open(workflows[at]) },
    ...(workflows[at] && canStart ? [{ keys: 'r', label: `Run ${workflows[at].name}`, run: () => start(workflows[at]?.name ?? '') }] : []),
  ])
  const onRow = (event: MouseEvent, workflow: WorkflowSummary) => {
    if (!(event.target as HTMLElement).closest('a, button')) open(workflow)
  }
  return (
    <table className="wf">
      <thead>
        <tr>
          <th>Workflow</th><th>Dialect</th><th>Structure</th><th>Last 16 runs</th><th className="right">Waiting</th><th>Last run</th><th>Version</th>
          <th><span className="sr">Actions</span></th>
        </tr>
      </thead>
      <tbody>
        {workflows.map((workflow, index) => (
          <tr key={workflow.name} className="clickable" aria-selected={index === at} onClick={(event) => onRow(event, workflow)}>
            <td className="wf-name">
              <Link className="b clip" to="/workflows/$name" params={{ name: workflow.name }}>{workflow.name}</Link>
              <DraftTag draft={drafts.find((draft) => draft.name === workflow.name)} />
              <small className="clip">{workflow.description}</small>
            </td>
            <td><span className="dialect">{workflow.dialect}</span></td>
            <td>{workflow.structure && <StructureCounts structure={workflow.structure} />}</td>
            <td><RunTicks workflow={workflow} /></td>
            <td className="right">{workflow.waiting > 0 && <span className="count count-people" title={`${plural(workflow.waiting, 'run')} waiting for approval`}>{workflow.waiting}</span>}</td>
            <td className="muted">{workflow.last_runs.at(-1)?.status === 'running' ? 'running' : <When at={workflow.last_run_at} />}</td>
            <td className="muted" title={workflow.hash.slice(0, 7)}>v{workflow.version}</td>
            <td className="right">
              {canStart && workflow.dialect !== 'session' && <IconButton label={`Run ${workflow.name}`} icon={Play} size={15} onClick={() => start(workflow.name)} />}
              <Menu
                trigger={<IconButton label={`More about ${workflow.name}`} icon={Ellipsis} />}
                entries={[
                  { label: 'Open', onSelect: () => open(workflow) },
                  { label: 'Runs', onSelect: () => void navigate({ to: '/workflows/$name/runs', params: { name: workflow.name } }) },
                  { label: 'Versions', onSelect: () => void navigate({ to: '/workflows/$name/versions', params: { name: workflow.name } }) },
                ]}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The draft of this browser, with its errors. */
function DraftTag({ draft }: { draft: DraftRecord | undefined }) {
  if (!draft) return null
  if (draft.errors === 0) return <span className="tag tag-fill draft-tag">draft</span>
  return <span className="tag sev-error draft-tag"><Icon of={CircleAlert} size={11} />draft has {plural(draft.errors, 'error')}</span>
}

const COUNTS: { key: keyof Structure; one: string; icon: IconComponent }[] = [
  { key: 'steps', one: 'step', icon: Square }, { key: 'decisions', one: 'decision', icon: Split }, { key: 'loops', one: 'loop', icon: Repeat },
  { key: 'approvals', one: 'approval', icon: UserRound },
]

function StructureCounts({ structure }: { structure: Structure }) {
  return (
    <span className="made">
      {COUNTS.map(({ key, one, icon }) => (
        <span key={key} title={structure[key] > 0 ? plural(structure[key], one) : undefined}>
          {structure[key] > 0 && <><Icon of={icon} size={13} />{structure[key]}<span className="sr"> {one}s</span></>}
        </span>
      ))}
    </span>
  )
}

const TICK: Record<RunStatus, string> = { completed: '', failed: 'f', waiting_people: 'p', waiting_timer: 't', cancelled: 'c', running: 't' }

function RunTicks({ workflow }: { workflow: WorkflowSummary }) {
  const runs = workflow.last_runs.slice(-16)
  const failed = runs.filter((run) => run.status === 'failed').length
  return (
    <span className="ticks" role="img" aria-label={`Last ${plural(runs.length, 'run')}, ${failed} failed`}>
      {Array.from({ length: 16 - runs.length }, (_, index) => <i key={index} className="n" />)}
      {runs.map((run) => <i key={run.id} className={TICK[run.status]} title={`${run.id}: ${STATUS_LABEL[run.status]}`} />)}
    </span>
  )
}
