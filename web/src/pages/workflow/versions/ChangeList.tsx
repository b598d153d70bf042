import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Info, Minus, Pencil, Plus } from 'lucide-react'
import { get, query } from '../../../api/client.ts'
import type { Diff, DiffChange, Page, Run, WorkflowDetail } from '../../../api/types.ts'
import { joinNames, plural } from '../../../ui/format.ts'
import { Icon } from '../../../ui/icons.tsx'
import { Empty } from '../../../ui/States.tsx'
import { STATUS_LABEL } from '../../../ui/StatusIcon.tsx'
import { capital } from '../Problems.tsx'
import { changedPart } from '../textDiff.ts'
import type { Compared } from '../VersionsView.tsx'

const GROUPS: { key: DiffChange['group']; title: string; one: string }[] = [
  { key: 'decisions', title: 'Decisions', one: 'decision' }, { key: 'approvals', title: 'Approvals', one: 'approval' },
  { key: 'steps', title: 'Steps', one: 'step' }, { key: 'other', title: 'Other', one: 'other setting' },
]

/** What changed in meaning, in words. A changed condition shows both texts. */
export function ChangeList({ diff, detail, from, to }: { diff: Diff; detail: WorkflowDetail; from: number; to: Compared }) {
  if (diff.changes.length === 0) return <Empty title="No changes in meaning">The two versions do the same. Their texts can still differ, for example in comments.</Empty>
  return (
    <>
      <p className="soft">{summary(diff.changes)}</p>
      {GROUPS.map(({ key, title }) => {
        const changes = diff.changes.filter((change) => change.group === key)
        return changes.length === 0 ? null : (
          <div key={key}>
            <h3 className="section">{title}</h3>
            <ul className="changes">{changes.map((change, index) => <Change key={index} change={change} />)}</ul>
          </div>
        )
      })}
      <ActiveRuns detail={detail} from={from} to={to} />
    </>
  )
}

/** "1 decision, 1 approval and 4 steps changed." Each step counts once. */
function summary(changes: DiffChange[]): string {
  const counts = GROUPS.map(({ key, one }) => {
    const own = changes.filter((change) => change.group === key)
    const count = new Set(own.map((change, index) => change.step ?? `${key}${index}`)).size
    return count > 0 ? plural(count, one) : null
  })
  return `${joinNames(counts.filter((text): text is string => text !== null))} changed.`
}

type Mark = 'added' | 'removed' | 'changed'

function markOf(change: DiffChange): Mark {
  if (/^(added|removed)/.test(change.kind)) return change.kind.startsWith('added') ? 'added' : 'removed'
  if (/(_|^)added$/.test(change.kind)) return 'added'
  return /(_|^)removed$/.test(change.kind) ? 'removed' : 'changed'
}

const MARK_ICON = { added: Plus, removed: Minus, changed: Pencil }

function Change({ change }: { change: DiffChange }) {
  const mark = markOf(change)
  // Short values are part of the sentence.
  const hasTexts = /changed$/.test(change.sentence) && (Boolean(change.before) || Boolean(change.after))
  return (
    <li className={`chg-${mark}`}>
      <span className="ck" role="img" aria-label={mark}><Icon of={MARK_ICON[mark]} size={13} /></span>
      <div className="grow">
        <p><NamedSentence sentence={change.sentence} step={change.step} /></p>
        {hasTexts && (
          <div className="dlines">
            {change.before && <div className="dl del"><span aria-label="before">−</span><code>{change.before}</code></div>}
            {change.after && <div className="dl add"><span aria-label="after">+</span><code><Marked before={change.before ?? ''} after={change.after} /></code></div>}
          </div>
        )}
      </div>
    </li>
  )
}

/** The name of the step, and of the branch whose condition changed, in semibold before what happened. */
function NamedSentence({ sentence, step = null }: { sentence: string; step?: string | null }) {
  const plain = sentence.replaceAll('`', '')
  if (!step) return <span className="soft">{capital(plain)}</span>
  const own = plain.startsWith(step) ? plain.slice(step.length).replace(/^,? /, '') : plain
  const branch = /^([\w-]+):? (condition changed)$/.exec(own)
  return <><b>{step}{branch ? `, ${branch[1]}` : ''}</b> <span className="soft">{branch ? branch[2] : own}</span></>
}

function Marked({ before, after }: { before: string; after: string }) {
  const { start, end } = changedPart(before, after)
  if (before === '' || start === 0 && end === after.length) return <>{after}</>
  return <>{after.slice(0, start)}<mark>{after.slice(start, end)}</mark>{after.slice(end)}</>
}

/** How many runs are still active on either version: they stay on it. */
function ActiveRuns({ detail, from, to }: { detail: WorkflowDetail; from: number; to: Compared }) {
  const active = useQuery({
    queryKey: ['runs', 'active', detail.name],
    queryFn: ({ signal }) => get<Page<Run>>(`/runs${query({ workflow: detail.name, status: 'running,waiting_people,waiting_timer', limit: 50 })}`, signal),
  }).data?.items
  if (!active) return null
  const describe = (version: number) => {
    const runs = active.filter((run) => run.version === version)
    if (runs.length === 0) return `Version ${version} has no active runs`
    return null
  }
  const versions = to === 'draft' ? [from] : [from, to]
  return (
    <div className="hint version-hint">
      <Icon of={Info} size={15} />
      <span>
        Runs stay on the version they started with.{' '}
        {versions.map((version, index) => {
          const runs = active.filter((run) => run.version === version)
          const end = index === versions.length - 1 ? '.' : '; '
          const none = describe(version)
          if (none) return <span key={version}>{index > 0 ? none.replace('Version', 'version') : none}{end}</span>
          const [first] = runs
          return (
            <span key={version}>
              {index > 0 ? 'on' : 'On'} version {version},{' '}
              {runs.length === 1 && first
                ? <><Link className="link" to="/runs/$id" params={{ id: first.id }}>{first.id}</Link> is {STATUS_LABEL[first.status].toLowerCase()}</>
                : `${plural(runs.length, 'run')} are active`}{end}
            </span>
          )
        })}
      </span>
    </div>
  )
}
