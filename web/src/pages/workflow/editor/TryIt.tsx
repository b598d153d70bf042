import { useQueries } from '@tanstack/react-query'
import { ArrowRight, Check, X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { post } from '../../../api/client.ts'
import type { EvalResult } from '../../../api/types.ts'
import { Icon } from '../../../ui/icons.tsx'
import { reason, Sentence } from '../../../ui/Sentence.tsx'
import { type ConditionRow, contextOf, trial } from './conditions.ts'

/** Evaluates the conditions of a decision against values that the person gives, on the server, and shows why. */
export function TryIt({ rows, dialect, titleOf }: { rows: ConditionRow[]; dialect: string; titleOf: (target: string) => string }) {
  const [typed, setTyped] = useState<Record<string, string>>({ input: '' })
  const values = useDelayed(typed, 120)
  const context = contextOf(values)
  const trials = rows.flatMap((row) => {
    const sent = trial(row)
    return sent ? [{ row, sent }] : []
  })
  const results = useQueries({
    queries: trials.map(({ sent }) => ({
      queryKey: ['try', dialect, sent, context], staleTime: Infinity, retry: false,
      queryFn: () => post<EvalResult>('/eval', { ...sent, dialect, cases: [context] }),
      placeholderData: (old: EvalResult | undefined) => old,
    })),
  })
  if (trials.length === 0) return null
  const paths = [...new Set(['input', ...results.flatMap((result) => result.data?.reads ?? [])])].filter((path) => path !== 'text')
  const matched = results.findIndex((result) => result.data?.cases[0]?.outcome === true)
  return (
    <>
      <p className="section try-title">Try it</p>
      {paths.map((path) => (
        <label key={path} className="try-field">
          <span className="small muted">{path === 'input' ? 'Previous output' : <code>{path}</code>}</span>
          <span className="input quiet"><input value={typed[path] ?? ''} spellCheck={false} onChange={(event) => setTyped({ ...typed, [path]: event.target.value })} /></span>
        </label>
      ))}
      <div className="tryout" aria-live="polite">
        {trials.map(({ row }, index) => <Outcome key={row.branch} row={row} result={results[index]?.data} isReached={matched < 0 || index <= matched} titleOf={titleOf} />)}
      </div>
    </>
  )
}

function Outcome({ row, result, isReached, titleOf }: { row: ConditionRow; result: EvalResult | undefined; isReached: boolean; titleOf: (target: string) => string }) {
  const outcome = result?.cases[0]
  const diagnostic = result?.diagnostics.find((finding) => (finding as { severity?: string }).severity === 'error') as { message?: string } | undefined
  if (!isReached) return <div className="row"><span className="outcome outcome-none">not evaluated</span><b className="small">{row.branch}</b></div>
  if (diagnostic) return <><div className="row"><span className="outcome outcome-error">error</span><b className="small">{row.branch}</b></div><p className="small soft">{diagnostic.message?.replaceAll('`', '')}</p></>
  if (!outcome) return <div className="row"><span className="outcome outcome-none">…</span><b className="small">{row.branch}</b></div>
  const isTrue = outcome.outcome === true
  const sentence = outcome.explanation?.sentence
  return (
    <>
      <div className="row">
        {outcome.error
          ? <span className="outcome outcome-error">error</span>
          : <span className={`outcome${isTrue ? ' outcome-true' : ''}`}><Icon of={isTrue ? Check : X} size={12} />{String(isTrue)}</span>}
        <b className="small">{row.branch}</b>
        {isTrue && row.target && <span className="to muted small"><Icon of={ArrowRight} size={12} />{titleOf(row.target)}</span>}
      </div>
      {outcome.error ? <p className="small sev-error">{outcome.error.message}</p> : sentence && <p className="small soft"><Sentence text={reason(sentence)} /></p>}
    </>
  )
}

function useDelayed<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setShown(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return shown
}
