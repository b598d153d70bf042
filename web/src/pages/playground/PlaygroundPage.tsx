import '../../styles/playground.css'
import { Check, History, OctagonAlert } from 'lucide-react'
import { lazy, Suspense, useEffect, useMemo, useState } from 'react'
import type { Spelling } from '../../api/types.ts'
import { Button, Segments } from '../../ui/Button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Select } from '../../ui/Select.tsx'
import { useTitle } from '../../ui/title.ts'
import { decodeState, encodeState } from './address.ts'
import { CaseTabs } from './CaseTabs.tsx'
import { marksOf, NO_MARKS, utf16Positions } from './marks.ts'
import { Problems } from './Problems.tsx'
import { Result } from './Result.tsx'
import { type Case, type PlaygroundState, SAMPLES, SPELLINGS } from './samples.ts'
import { contextIn, useEvaluation } from './useEvaluation.ts'

const CodeField = lazy(() => import('./CodeField.tsx'))
const FromRun = lazy(() => import('./FromRun.tsx'))

/** Conditions in all five spellings, evaluated by the server over contexts. The state is in the address. */
export function PlaygroundPage() {
  useTitle('Playground')
  const [state, setState] = useAddressState()
  const [at, setAt] = useState(0)
  const [isChoosing, setIsChoosing] = useState(false)
  const position = Math.min(at, state.cases.length - 1)
  const evaluation = useEvaluation(state)
  const result = evaluation.result
  const findings = result?.diagnostics ?? []
  const isInvalid = findings.some((finding) => finding.severity === 'error')
  const resultAt = evaluation.positions[position]
  const shown = isInvalid || resultAt === null || resultAt === undefined ? null : (result?.cases[resultAt] ?? null)
  const marks = useMemo(
    () => (shown?.explanation && !evaluation.isPending ? marksOf(shown.explanation.tree, state.condition, new Set(result?.reads ?? [])) : NO_MARKS),
    [shown, state.condition, evaluation.isPending],
  )
  const squiggles = useMemo(() => {
    const utf16 = utf16Positions(state.condition)
    return evaluation.isPending ? [] : findings.map((finding) => ({ from: utf16(finding.start), to: utf16(finding.end), isError: finding.severity === 'error' }))
  }, [result, evaluation.isPending])
  const change = (patch: Partial<PlaygroundState>) => setState({ ...state, ...patch })
  const changeCase = (patch: Partial<Case>) => change({ cases: state.cases.map((one, index) => (index === position ? { ...one, ...patch } : one)) })
  const chooseSpelling = (spelling: Spelling) => {
    setAt(0)
    setState(SAMPLES[spelling])
  }
  const current = state.cases[position] ?? { name: '', text: '{}' }
  const spelling = SPELLINGS.find((one) => one.value === state.spelling)
  const isContextInvalid = contextIn(current.text) === null
  return (
    <main id="main" className="pg">
      <h1 className="sr">Playground</h1>
      <section className="pg-left" aria-label="Condition and context">
        <div className="pg-h pg-spelling">
          <Segments label="Spelling" value={state.spelling} onChange={chooseSpelling} options={SPELLINGS.map(({ value, label }) => ({ value, label }))} />
          <span className="grow" />
          <Select label="Dialect" value={state.dialect} onChange={(dialect) => change({ dialect })} options={(spelling?.dialects ?? []).map((value) => ({ value, label: value }))} />
        </div>
        <div className="code pg-cond">
          <Suspense fallback={<pre className="pg-plain">{state.condition}</pre>}>
            <CodeField text={state.condition} label="Condition" language={state.spelling === 'expression' ? 'expression' : 'json'} marks={marks} squiggles={squiggles} onChange={(condition) => change({ condition })} />
          </Suspense>
        </div>
        {findings.length > 0
          ? <Problems findings={findings} text={state.condition} />
          : (
            <div className="pg-note">
              <span className="status small"><Icon of={Check} size={14} />No problems</span><span className="grow" />
              <span className="muted small">Hints show values from the context</span>
            </div>
          )}
        <div className="pg-h pg-context-head">
          <h2>Context</h2>
          <CaseTabs cases={state.cases} at={position} onSelect={setAt} onChange={(cases) => change({ cases })} />
          <span className="grow" />
          <Button look="quiet" small icon={History} onClick={() => setIsChoosing(true)}>From a run</Button>
          <Button look="quiet" small disabled={isContextInvalid} onClick={() => changeCase({ text: JSON.stringify(contextIn(current.text), null, 2) })}>Format</Button>
        </div>
        {isContextInvalid && <p className="pg-note sev-error small" role="alert"><Icon of={OctagonAlert} size={14} />The context must be a JSON object.</p>}
        <div className="code pg-ctx" role="tabpanel" id="case-panel" aria-label={`Context of ${current.name}`}>
          <Suspense fallback={<pre className="pg-plain">{current.text}</pre>}>
            <CodeField key={position} text={current.text} label={`Context of ${current.name}`} language="json" onChange={(text) => changeCase({ text })} />
          </Suspense>
        </div>
      </section>
      <Result state={state} evaluation={evaluation} at={position} shown={shown} isInvalid={isInvalid} onSelect={setAt} />
      <Suspense>
        {isChoosing && (
          <FromRun
            onClose={() => setIsChoosing(false)}
            onChoose={(chosen) => {
              setAt(0)
              setState(chosen(state))
              setIsChoosing(false)
            }}
          />
        )}
      </Suspense>
    </main>
  )
}

/** The state of the page, which the address follows without adding to the history. */
function useAddressState(): [PlaygroundState, (state: PlaygroundState) => void] {
  const [state, setState] = useState<PlaygroundState>(() => decodeState(location.hash) ?? SAMPLES.expression)
  useEffect(() => {
    const follow = () => {
      const next = decodeState(location.hash)
      if (next) setState(next)
    }
    window.addEventListener('hashchange', follow)
    return () => window.removeEventListener('hashchange', follow)
  }, [])
  const change = (next: PlaygroundState) => {
    setState(next)
    history.replaceState(history.state, '', `${location.pathname}${location.search}#${encodeState(next)}`)
  }
  return [state, change]
}
