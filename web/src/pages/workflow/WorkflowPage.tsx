import '../../styles/workflow.css'
import '../../styles/versions.css'
import './workflow.css'
import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { get, Problem, query, segment } from '../../api/client.ts'
import { workflowQuery } from '../../api/queries.ts'
import type { WorkflowDetail } from '../../api/types.ts'
import { NotFound } from '../../app/NotFound.tsx'
import { useTopics } from '../../live/connect.ts'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { DesignView } from './DesignView.tsx'
import { type Draft, openDraft } from './draft/draft.ts'
import { RunsView } from './RunsView.tsx'
import { VersionReader } from './VersionReader.tsx'
import { VersionsView } from './VersionsView.tsx'

export function DesignTab() {
  const { name } = useParams({ from: '/workflows/$name' })
  const { v } = useSearch({ from: '/workflows/$name' })
  return (
    <Workflow name={name} title={name}>
      {(detail) => (v && Number(v) !== detail.version ? <VersionReader detail={detail} version={Number(v)} /> : <WithDraft key={name} detail={detail}>{(draft) => <DesignView detail={detail} draft={draft} />}</WithDraft>)}
    </Workflow>
  )
}

export function RunsTab() {
  const { name } = useParams({ from: '/workflows/$name/runs' })
  return <Workflow name={name} title={`Runs of ${name}`}>{(detail) => <RunsView detail={detail} />}</Workflow>
}

export function VersionsTab() {
  const { name } = useParams({ from: '/workflows/$name/versions' })
  return (
    <Workflow name={name} title={`Versions of ${name}`}>
      {(detail) => <WithDraft key={name} detail={detail}>{(draft) => <VersionsView detail={detail} draft={draft} />}</WithDraft>}
    </Workflow>
  )
}

/** Loads a workflow; every state of a page that fails or waits. */
function Workflow({ name, title, children }: { name: string; title: string; children: (detail: WorkflowDetail) => ReactNode }) {
  useTitle(title)
  useTopics(['workflows', 'runs'])
  const loaded = useQuery(workflowQuery(name))
  if (loaded.data) return <div className="screen workflow-screen">{children(loaded.data)}</div>
  if (loaded.error instanceof Problem && loaded.error.status === 404) return <NotFound what={`Workflow ${name}`} />
  if (loaded.isLoadingError) return <main id="main" className="page-scroll"><Failed what="this workflow" error={loaded.error} onRetry={() => void loaded.refetch()} /></main>
  return <main id="main" className="page-scroll"><SkeletonRows rows={10} /></main>
}

/** The draft of this browser, continued if there is one. */
function WithDraft({ detail, children }: { detail: WorkflowDetail; children: (draft: Draft) => ReactNode }) {
  const [draft, setDraft] = useState<Draft | null>(null)
  useEffect(() => {
    let isCurrent = true
    const textOf = async (version: number) => (await get<WorkflowDetail>(`/workflows/${segment(detail.name)}${query({ version })}`)).text
    void openDraft(detail, textOf).then((opened) => isCurrent && setDraft(opened))
    return () => {
      isCurrent = false
    }
  }, [detail.name])
  useEffect(() => {
    // Without own edits, a version that somebody else saved is shown at once.
    const state = draft?.snapshot()
    if (draft && state && !state.isEdited && state.base.version < detail.version) {
      void draft.rebase({ version: detail.version, hash: detail.hash, text: detail.text })
    }
  }, [draft, detail.version])
  return draft ? <>{children(draft)}</> : <main id="main" />
}
