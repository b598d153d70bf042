import '../../styles/code.css'
import './run-page.css'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef } from 'react'
import { runDrawingQuery, runQuery } from '../../api/queries.ts'
import type { RunDetail } from '../../api/types.ts'
import { useTopics } from '../../live/connect.ts'
import { announce, announceNow } from '../../ui/announce.tsx'
import { Delayed, Failed, SkeletonRows } from '../../ui/States.tsx'
import { STATUS_LABEL } from '../../ui/StatusIcon.tsx'
import { useTitle } from '../../ui/title.ts'
import { RunBody } from './RunBody.tsx'
import { RunHeader } from './RunHeader.tsx'
import { isOver } from './runStatus.ts'
import { useTrace } from './traceStore.ts'
import { useRunView } from './useRunView.ts'
import { useWidth } from './useWidth.ts'

const PhoneRun = lazy(() => import('./PhoneRun.tsx'))

export function RunPage() {
  const { id } = useParams({ from: '/runs/$id' })
  return <OneRun key={id} id={id} />
}

function OneRun({ id }: { id: string }) {
  useTitle(id)
  useTopics([`run:${id}`])
  const run = useQuery(runQuery(id))
  if (run.isLoadingError) {
    return <main id="main" className="page-scroll"><Failed what={`run ${id}`} error={run.error} onRetry={() => void run.refetch()} /></main>
  }
  if (!run.data) return <main id="main" className="page-scroll"><Delayed><div className="bar"><i className="sk" style={{ width: 280, height: 16 }} /></div></Delayed><SkeletonRows rows={12} /></main>
  return <Loaded run={run.data} />
}

function Loaded({ run }: { run: RunDetail }) {
  const drawing = useQuery(runDrawingQuery(run.id))
  const store = useTrace(run.id)
  store.isOngoing = !isOver(run)
  const version = store.snapshot()
  const view = useRunView(drawing.data ?? null, store, version)
  const width = useWidth()
  useAnnouncements(run)
  const shared = { run, drawing: drawing.data ?? null, drawingError: drawing.error, store, version, view }
  if (width === 'phone') return <Suspense><PhoneRun {...shared} /></Suspense>
  return (
    <main id="main" className="screen">
      <RunHeader run={run} view={view} />
      <RunBody {...shared} width={width} />
    </main>
  )
}

/** Reports what happens to the run, one sentence at a time. */
function useAnnouncements(run: RunDetail): void {
  const before = useRef({ status: run.status, current: run.current.join(), approval: run.waiting_for?.approval ?? null })
  useEffect(() => {
    const last = before.current
    const current = run.current.join()
    const approval = run.waiting_for?.approval ?? null
    if (approval !== null && approval !== last.approval) announceNow(`${run.current.join(', ')} is waiting for approval`)
    else if (run.status !== last.status) announce(`${run.id}: ${STATUS_LABEL[run.status].toLowerCase()}`)
    else if (current !== last.current && current !== '') announce(`${run.current.slice(0, 3).join(', ')} started`)
    before.current = { status: run.status, current, approval }
  }, [run])
}
