import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Copy, Download, WrapText } from 'lucide-react'
import { useState } from 'react'
import { get, isRecord, segment } from '../../api/client.ts'
import type { Step } from '../../api/types.ts'
import { Button, Segments } from '../../ui/Button.tsx'
import { copyText, downloadText } from '../../ui/clipboard.ts'
import { formatBytes } from '../../ui/format.ts'
import { JsonTree } from '../../ui/JsonTree.tsx'
import { showProblem } from '../../ui/problems.ts'
import { StatusIcon } from '../../ui/StatusIcon.tsx'

const PAGE_BYTES = 64 * 1024

/** The output of a step: streamed text while it runs, its value, the calls of tools, and the runs that it called. */
export function OutputTab({ run, step, text }: { run: string; step: Step; text: string | undefined }) {
  return (
    <>
      {text !== undefined && step.status === 'running' ? <Streamed text={text} /> : <ValueTab run={run} step={step} field="output" />}
      {(step.tool_calls?.length ?? 0) > 0 && <ToolCalls step={step} />}
      {step.child_runs.length > 0 && <ChildRuns runs={step.child_runs} />}
    </>
  )
}

function Streamed({ text }: { text: string }) {
  return <pre className="value-text streamed" aria-live="off">{text}<span className="caret-blink" aria-hidden /></pre>
}

/** A value as text or as a JSON tree. Values above 4 KB are cut; the rest is loaded on request. */
export function ValueTab({ run, step, field }: { run: string; step: Step; field: 'input' | 'output' }) {
  const [wants, setWants] = useState(0)
  const value = step[field]
  const cut = cutOf(value)
  const whole = useQuery({
    queryKey: ['step', run, step.key, 'full'],
    queryFn: ({ signal }) => get<Step>(`/runs/${segment(run)}/trace/${segment(step.key)}?full=true`, signal),
    enabled: cut !== null && wants > 0,
    staleTime: Infinity,
  })
  const [isRaw, setRaw] = useState(false)
  const [wraps, setWraps] = useState(true)
  if (value === null || value === undefined) return null
  const full = whole.data ? whole.data[field] : undefined
  const shown = full === undefined ? (cut ? cut.text : value) : full
  const isText = typeof shown === 'string'
  const raw = isText ? shown : JSON.stringify(shown, null, 2)
  const limit = cut ? wants * PAGE_BYTES : Infinity
  const visible = full !== undefined && raw.length > limit ? raw.slice(0, limit) : raw
  const isWhole = cut === null || (full !== undefined && raw.length <= limit)
  const fetchWhole = async () => {
    const step_ = cut ? await get<Step>(`/runs/${segment(run)}/trace/${segment(step.key)}?full=true`) : step
    const content = step_[field]
    return typeof content === 'string' ? content : JSON.stringify(content, null, 2)
  }
  const name = `${step.step}-${field}.${isText ? 'txt' : 'json'}`
  return (
    <>
      <div className="row value-head">
        <b>{field === 'input' ? 'Input' : 'Output'}</b>
        <span className="muted small">{[field === 'output' ? step.output_content_type : null, cut ? formatBytes(cut.bytes) : null].filter(Boolean).join(', ')}</span>
        <span className="grow" />
        {!isText && isWhole && <Segments label="Format" value={isRaw ? 'raw' : 'tree'} options={[{ value: 'tree', label: 'Tree' }, { value: 'raw', label: 'Raw' }]} onChange={(next) => setRaw(next === 'raw')} />}
        {(isText || isRaw) && <Button look="quiet" small icon={WrapText} aria-pressed={wraps} onClick={() => setWraps(!wraps)}>Wrap</Button>}
        <Button look="quiet" small icon={Copy} onClick={() => void fetchWhole().then((content) => copyText(content, field), showProblem)}>Copy</Button>
        <Button look="quiet" small icon={Download} onClick={() => void fetchWhole().then((content) => downloadText(name, content), showProblem)}>Download</Button>
      </div>
      {!isText && !isRaw && isWhole ? <div className="json value-tree"><JsonTree value={shown} /></div> : <pre className={`value-text${wraps ? '' : ' no-wrap'}`}>{visible}{!isWhole && <span className="cutt">…</span>}</pre>}
      {cut && !isWhole && (
        <p className="row small muted">
          <span>Showing the first {formatBytes(full === undefined ? new Blob([cut.text]).size : visible.length)} of {formatBytes(cut.bytes)}</span>
          <span className="grow" />
          <button type="button" className="link" disabled={whole.isFetching} onClick={() => setWants(wants + 1)}>Show 64 KB more</button>
        </p>
      )}
      {whole.isError && <p className="sev-error small" role="alert">Couldn’t load the rest. {String(whole.error)}</p>}
    </>
  )
}

/** A value that the server has shortened. */
function cutOf(value: unknown): { text: string; bytes: number } | null {
  if (!isRecord(value)) return null
  if (typeof value.bytes === 'number' && typeof value.truncated === 'string') return { text: value.truncated, bytes: value.bytes }
  if (isRecord(value.$cut) && typeof value.$cut.text === 'string') return { text: value.$cut.text, bytes: Number(value.$cut.bytes) }
  return null
}

function ToolCalls({ step }: { step: Step }) {
  return (
    <>
      <p className="section">Tool calls</p>
      <ul className="values tool-calls">
        {step.tool_calls?.map((call, index) => (
          <li key={index}>
            <details>
              <summary><StatusIcon status={call.status} /><b>{String(call.tool)}</b></summary>
              <div className="json"><JsonTree name="arguments" value={call.arguments} />{call.error ? <p className="attempt-error">{call.error.message}</p> : <JsonTree name="output" value={call.output} />}</div>
            </details>
          </li>
        ))}
      </ul>
    </>
  )
}

function ChildRuns({ runs }: { runs: string[] }) {
  return (
    <>
      <p className="section">Called runs</p>
      <div className="values">{runs.map((id) => <div key={id}><Link className="link" to="/runs/$id" params={{ id }}>{id}</Link></div>)}</div>
    </>
  )
}
