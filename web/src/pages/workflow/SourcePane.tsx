import '../../source/source.css'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, type Ref, Suspense, useMemo } from 'react'
import { post, Problem } from '../../api/client.ts'
import { schemaQuery } from '../../api/queries.ts'
import { isJson } from '../../source/cursorContext.ts'
import type { Mark } from '../../source/marks.ts'
import type { Schema } from '../../source/schema.ts'
import type { SourceHandle } from '../../source/SourceEditor.tsx'
import { Button } from '../../ui/Button.tsx'
import { SkeletonRows } from '../../ui/States.tsx'
import { showToast } from '../../ui/toasts.tsx'
import type { Finding } from './checks.ts'
import { type Draft, useDraftState } from './draft/draft.ts'

const SourceEditor = lazy(() => import('../../source/SourceEditor.tsx'))

interface SourcePaneProps {
  name: string
  dialect: string
  draft: Draft
  findings: Finding[]
  highlight: { from: number; to: number } | null
  readOnly: boolean
  onCursor: (position: number) => void
  onFix: (finding: Finding, fix: number) => void
  onNextProblem: (backwards: boolean) => void
  onUndo: () => void
  onRedo: () => void
  onSave: () => void
  handle: Ref<SourceHandle>
}

/** The text of the draft, which is authoritative. */
export function SourcePane({ name, dialect, draft, findings, highlight, readOnly, onCursor, onFix, onNextProblem, onUndo, onRedo, onSave, handle }: SourcePaneProps) {
  const state = useDraftState(draft)
  const schema = useQuery(schemaQuery(dialect)).data as Schema | undefined
  const marks = useMemo(() => findings.map((finding): Mark => ({
    from: finding.from, to: finding.to, severity: finding.severity, message: finding.message, help: finding.help ?? null, kind: finding.kind,
    fixes: (finding.fixes ?? []).map((fix, at) => ({ title: fix.title, apply: () => onFix(finding, at) })),
  })), [findings])
  const format = async () => {
    try {
      const { text } = await post<{ text: string }>('/format', { text: state.text, name, dialect })
      draft.edit(text, 'format the source')
    } catch (error) {
      showToast({ text: error instanceof Problem ? `The source cannot be formatted: ${error.message}` : String(error) })
    }
  }
  return (
    <section className="source" aria-label="Source">
      <div className="src-head">
        <span className="mono small clip">{name}.{isJson(state.text) ? 'json' : 'yaml'}</span>
        <span className="grow" />
        {readOnly && <span className="muted small">Read-only</span>}
        {!readOnly && <Button look="quiet" small action onClick={() => void format()}>Format</Button>}
        {state.isEdited && (
          <Link className="btn btn-quiet btn-small" to="/workflows/$name/versions" params={{ name }} search={{ from: String(state.base.version), to: 'draft', as: 'text' }}>
            Compare with version {state.base.version}
          </Link>
        )}
      </div>
      <Suspense fallback={<SkeletonRows rows={12} height={20} />}>
        <SourceEditor
          text={state.text} label={`Source of ${name}`} readOnly={readOnly} schema={schema ?? null} marks={marks} highlight={highlight} ref={handle}
          onChange={(text) => draft.edit(text, 'edit the source', true)} onCursor={onCursor} onUndo={onUndo} onRedo={onRedo} onSave={onSave} onNextProblem={onNextProblem}
        />
      </Suspense>
    </section>
  )
}
