import '../../source/source.css'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { workflowQuery } from '../../api/queries.ts'
import type { WorkflowDetail } from '../../api/types.ts'
import { isJson } from '../../source/cursorContext.ts'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { WorkflowHeader } from './WorkflowHeader.tsx'

const SourceEditor = lazy(() => import('../../source/SourceEditor.tsx'))

/** An older version, to read. */
export function VersionReader({ detail, version }: { detail: WorkflowDetail; version: number }) {
  const loaded = useQuery(workflowQuery(detail.name, version))
  const params = { name: detail.name }
  return (
    <>
      <WorkflowHeader
        detail={detail} tab="design" version={version} note={`Version ${version} cannot be changed`}
        actions={<>
          <Link className="btn" to="/workflows/$name/versions" params={params} search={{ from: String(version), to: String(detail.version) }}>Compare with version {detail.version}</Link>
          <Link className="btn btn-primary" to="/workflows/$name" params={params}>Edit version {detail.version}</Link>
        </>}
      />
      <main id="main" className="version-reader">
        {loaded.isLoadingError && <Failed what={`version ${version}`} error={loaded.error} onRetry={() => void loaded.refetch()} />}
        {loaded.isPending && <SkeletonRows rows={14} height={20} />}
        {loaded.data && (
          <section className="source" aria-label="Source">
            <div className="src-head"><span className="mono small">{detail.name}.{isJson(loaded.data.text) ? 'json' : 'yaml'}</span><span className="grow" /><span className="muted small">Read-only</span></div>
            <Suspense><SourceEditor text={loaded.data.text} label={`Source of version ${version}`} readOnly /></Suspense>
          </section>
        )}
      </main>
    </>
  )
}
