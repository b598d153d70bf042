import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { post, Problem } from '../../api/client.ts'
import { diffQuery, workflowQuery } from '../../api/queries.ts'
import type { Diff, WorkflowDetail } from '../../api/types.ts'
import { Canvas } from '../../graph/Canvas.tsx'
import { Segments } from '../../ui/Button.tsx'
import { Empty, Failed, SkeletonRows } from '../../ui/States.tsx'
import { type Draft, useDraftState } from './draft/draft.ts'
import { RunButton } from './RunButton.tsx'
import { ChangeList } from './versions/ChangeList.tsx'
import { TextComparison } from './versions/TextComparison.tsx'
import { VersionList } from './versions/VersionList.tsx'
import { WorkflowHeader } from './WorkflowHeader.tsx'

/** A version, or the draft of this browser. */
export type Compared = number | 'draft'

/** The versions of a workflow, and what changed between two of them. */
export function VersionsView({ detail, draft }: { detail: WorkflowDetail; draft: Draft }) {
  const search = useSearch({ from: '/workflows/$name/versions' })
  const navigate = useNavigate({ from: '/workflows/$name/versions' })
  const state = useDraftState(draft)
  const to = comparedOf(search.to, detail, state.isEdited) ?? detail.version
  const from = Number(search.from) || (to === 'draft' ? state.base.version : Math.max(1, to - 1))
  const isOnlyOne = from === to
  const view = search.as === 'text' ? 'text' : 'words'
  const choose = (patch: { from?: string; to?: string; as?: string }) => void navigate({ search: (old) => ({ ...old, ...patch }), replace: true })
  return (
    <>
      <WorkflowHeader
        detail={detail} tab="versions" version={to === 'draft' ? null : to}
        actions={<><Link className="btn not-phone" to="/workflows/$name" params={{ name: detail.name }}>Edit</Link><RunButton detail={detail} /></>}
      />
      <main id="main" className={`vers${isOnlyOne || view === 'text' ? '' : ' with-graph'}`}>
        <VersionList
          detail={detail} isDraftEdited={state.isEdited} from={isOnlyOne ? null : from} to={to}
          onTo={(version) => choose({ to: String(version), ...(version !== 'draft' && version <= from ? { from: undefined } : {}) })}
          onFrom={(version) => choose({ from: String(version) })}
        />
        {isOnlyOne
          ? <section className="diff" aria-label="Changes"><h2 className="sr">Changes</h2><Empty title="Only one version">Each save makes a version. What changed between two versions is shown here.</Empty></section>
          : <Comparison key={`${from}-${to}`} detail={detail} from={from} to={to} draftText={state.text} view={view} onView={(as) => choose({ as: as === 'text' ? 'text' : undefined })} />}
      </main>
    </>
  )
}

function comparedOf(text: string | undefined, detail: WorkflowDetail, isDraftEdited: boolean): Compared | null {
  if (text === 'draft') return isDraftEdited ? 'draft' : null
  const version = Number(text)
  return detail.versions.some((entry) => entry.version === version) ? version : null
}

interface ComparisonProps {
  detail: WorkflowDetail
  from: number
  to: Compared
  draftText: string
  view: 'words' | 'text'
  onView: (view: 'words' | 'text') => void
}

function Comparison({ detail, from, to, draftText, view, onView }: ComparisonProps) {
  const diff = useQuery(to === 'draft' ? draftDiffQuery(detail.name, from, draftText) : diffQuery(detail.name, from, to))
  // A server of an earlier build compares no meanings: the texts can still be compared.
  const isMissing = view === 'words' && diff.error instanceof Problem && (diff.error.status === 404 || diff.error.status === 405)
  return (
    <>
      <section className="diff" aria-label="Changes">
        <div className="d-head diff-head">
          <h2 className="t15">Changes from version {from} to {to === 'draft' ? 'your draft' : `version ${to}`}</h2>
          <span className="grow" />
          <Segments label="View" value={view} options={[{ value: 'words', label: 'Summary' }, { value: 'text', label: 'Text' }]} onChange={onView} />
        </div>
        <div className="diff-body">
          {view === 'words' && diff.isPending && <SkeletonRows rows={6} height={40} />}
          {isMissing && <TextChanges detail={detail} from={from} to={to} draftText={draftText} />}
        {view === 'words' && diff.isLoadingError && !isMissing && <Failed what="the changes" error={diff.error} onRetry={() => void diff.refetch()} />}
          {view === 'words' && diff.data && <ChangeList diff={diff.data} detail={detail} from={from} to={to} />}
          {view === 'text' && <TextChanges detail={detail} from={from} to={to} draftText={draftText} />}
        </div>
      </section>
      {view === 'words' && <ChangedGraph diff={diff.data} />}
    </>
  )
}

/** The same changes on the graph. */
function ChangedGraph({ diff }: { diff: Diff | undefined }) {
  if (!diff?.drawing) return <section className="canvas not-phone" aria-label="Changes on the graph" />
  return (
    <Canvas drawing={diff.drawing} mode="design" label="Changes on the graph" marks={diff.marks} zoom="none">
      <div className="legend diff-legend"><span><i className="lg dadd" />added</span><span><i className="lg dchg" />changed</span><span><i className="lg ddel" />removed</span></div>
    </Canvas>
  )
}

const draftDiffQuery = (name: string, from: number, text: string) => queryOptions({
  queryKey: ['diff', name, from, 'draft', text],
  queryFn: () => post<Diff>('/diff', { name, from, text }),
  staleTime: Infinity,
})

function TextChanges({ detail, from, to, draftText }: { detail: WorkflowDetail; from: number; to: Compared; draftText: string }) {
  const before = useQuery(workflowQuery(detail.name, from))
  const after = useQuery({ ...workflowQuery(detail.name, to === 'draft' ? detail.version : to), enabled: to !== 'draft' })
  const error = before.error ?? (to === 'draft' ? null : after.error)
  if (error) return <Failed what="the texts" error={error} onRetry={() => void Promise.all([before.refetch(), after.refetch()])} />
  const text = to === 'draft' ? draftText : after.data?.text
  if (!before.data || text === undefined) return <SkeletonRows rows={12} height={20} />
  return <TextComparison before={before.data.text} after={text} />
}
