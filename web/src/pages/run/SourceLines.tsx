import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { runSourceQuery } from '../../api/queries.ts'
import type { RunDetail, Span } from '../../api/types.ts'
import { CodeLines, lineAt, type SourceSpan } from './CodeLines.tsx'

/** The lines around a step's condition, in the text that the run pinned. */
export function SourceLines({ run, span, line, mark }: { run: RunDetail; span: Span | null; line?: number | null; mark?: SourceSpan | null }) {
  const source = useQuery(runSourceQuery(run.id)).data
  const at = line ?? span?.line ?? null
  if (!source || source.text === '' || at === null) return null
  const marked = mark ? lineAt(source.text, mark.start) : at
  return (
    <>
      <p className="section">Source <span className="grow" /><Link className="link small" to="/workflows/$name" params={{ name: run.workflow }} search={{ v: run.version == null ? undefined : String(run.version), line: String(at) }}>{source.name}, line {at}</Link></p>
      <CodeLines text={source.text} dialect={source.dialect} from={Math.max(1, marked - 1)} to={marked + 2} on={marked} mark={mark ?? null} />
    </>
  )
}
