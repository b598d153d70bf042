import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { runSourceQuery } from '../../api/queries.ts'
import type { RunDetail, Step } from '../../api/types.ts'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { CodeLines, lineAt } from './CodeLines.tsx'

const AROUND = 3

/** The step in the text that the run pinned. Later versions of the workflow do not change it. */
export function SourceTab({ run, step }: { run: RunDetail; step: Step }) {
  const source = useQuery(runSourceQuery(run.id))
  if (source.isLoadingError) return <Failed what="the source" error={source.error} onRetry={() => void source.refetch()} />
  if (!source.data) return <SkeletonRows />
  const { text, name, dialect } = source.data
  if (text === '') return <p className="soft">The text of a called workflow is not stored with its run, only its program.</p>
  const first = step.span ? step.span.line : 1
  const last = step.span ? lineAt(text, step.span.end) : text.split('\n').length
  return (
    <>
      <p className="section first">{name} <span className="grow" /><Link className="link small" to="/workflows/$name" params={{ name: run.workflow }} search={{ v: run.version == null ? undefined : String(run.version), line: String(first) }}>Open version {run.version}, line {first}</Link></p>
      <CodeLines text={text} dialect={dialect} from={Math.max(1, first - AROUND)} to={Math.min(last + AROUND, first + 400)} on={[first, last]} mark={null} />
    </>
  )
}
