import { Link, useNavigate } from '@tanstack/react-router'
import { ChevronDown, ChevronRight, CircleAlert, Ellipsis, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import type { WorkflowDetail } from '../../api/types.ts'
import { IconButton } from '../../ui/Button.tsx'
import { plural } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { Menu, type MenuEntry } from '../../ui/Menu.tsx'

export type Tab = 'design' | 'runs' | 'versions'

interface HeaderProps {
  detail: WorkflowDetail
  tab: Tab
  /** The version in the select; the draft of the next version if it is `null`. */
  version: number | null
  problems?: { errors: number; warnings: number }
  /** Where the draft is, at the left of the buttons. */
  note?: ReactNode
  actions: ReactNode
  more?: (MenuEntry | null)[]
  /** At the right of the tabs. */
  beside?: ReactNode
}

/** Name, version, problems and actions of a workflow, and its tabs. */
export function WorkflowHeader({ detail, tab, version, problems, note, actions, more, beside }: HeaderProps) {
  const params = { name: detail.name }
  return (
    <section className="workflow-head" aria-label="Workflow">
      <div className="bar workflow-bar">
        <div className="crumb">
          <Link to="/workflows" className="not-phone">Workflows</Link>
          <span className="not-phone"><Icon of={ChevronRight} size={14} /></span>
          <h1 className="clip" title={detail.name}>{detail.name}</h1>
        </div>
        <span className="dialect not-phone">{detail.dialect}</span>
        <VersionMenu detail={detail} version={version} />
        {problems && <ProblemCounts {...problems} />}
        <span className="grow" />
        {note && <span className="muted small workflow-note not-phone">{note}</span>}
        {actions}
        {more && more.length > 0 && <Menu trigger={<IconButton label={`More about ${detail.name}`} icon={Ellipsis} />} entries={more} />}
      </div>
      <div className="subtabs">
        <nav className="tabs" aria-label="Parts of the workflow">
          <TabLink to="/workflows/$name" params={params} isCurrent={tab === 'design'}>Design</TabLink>
          <TabLink to="/workflows/$name/runs" params={params} isCurrent={tab === 'runs'}>Runs {detail.runs_total > 0 && <span className="count">{detail.runs_total}</span>}</TabLink>
          <TabLink to="/workflows/$name/versions" params={params} isCurrent={tab === 'versions'}>Versions <span className="count">{detail.versions.length}</span></TabLink>
        </nav>
        <span className="grow" />
        {beside}
      </div>
    </section>
  )
}

function TabLink({ to, params, isCurrent, children }: {
  to: '/workflows/$name' | '/workflows/$name/runs' | '/workflows/$name/versions'
  params: { name: string }
  isCurrent: boolean
  children: ReactNode
}) {
  return <Link to={to} params={params} className={isCurrent ? 'tab-on' : ''} aria-current={isCurrent ? 'page' : undefined} activeProps={{ className: isCurrent ? 'tab-on' : '' }}>{children}</Link>
}

function VersionMenu({ detail, version }: { detail: WorkflowDetail; version: number | null }) {
  const navigate = useNavigate()
  const open = (chosen: number) => void navigate({ to: '/workflows/$name', params: { name: detail.name }, search: chosen === detail.version ? {} : { v: String(chosen) } })
  const shown = version === null ? `Draft of version ${detail.version + 1}` : `Version ${version}`
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="select version-select" aria-label={`Version: ${shown}`}>
          {version === null ? <>Draft of <b>version {detail.version + 1}</b></> : <b>Version {version}</b>}
          <Icon of={ChevronDown} size={14} />
        </button>
      }
      entries={detail.versions.map((entry) => ({
        label: entry.version === detail.version ? `Version ${entry.version} (latest)` : `Version ${entry.version}`,
        checked: entry.version === version, onSelect: () => open(entry.version),
      }))}
    />
  )
}

function ProblemCounts({ errors, warnings }: { errors: number; warnings: number }) {
  return (
    <>
      {errors > 0 && <span className="status small sev-error not-phone"><Icon of={CircleAlert} size={14} />{plural(errors, 'error')}</span>}
      {warnings > 0 && <span className="status small sev-warning not-phone"><Icon of={TriangleAlert} size={14} />{plural(warnings, 'warning')}</span>}
    </>
  )
}
