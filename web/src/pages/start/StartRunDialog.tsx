import './start.css'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Paperclip, X } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import { Problem, request } from '../../api/client.ts'
import { workflowQuery } from '../../api/queries.ts'
import type { RunDetail, WorkflowDetail } from '../../api/types.ts'
import { Button, IconButton } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { formatBytes } from '../../ui/format.ts'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { type DryRun, DryRunResult } from './DryRunResult.tsx'
import { InputField } from './InputField.tsx'
import { initialValues, readForm, readJson } from './startForm.ts'

/** Start run, from any page: `?run=support-triage` opens it. */
export default function StartRunDialog({ workflow }: { workflow: string }) {
  const navigate = useNavigate()
  const detail = useQuery(workflowQuery(workflow))
  const close = () => void navigate({ to: '.', search: (old) => ({ ...old, run: undefined }) as never, replace: true })
  if (detail.data) return <StartForm key={detail.data.name} detail={detail.data} onClose={close} />
  return (
    <Dialog open onClose={close} title={`Run ${workflow}`}>
      {detail.isLoadingError ? <Failed what="this workflow" error={detail.error} onRetry={() => void detail.refetch()} /> : <SkeletonRows rows={3} />}
    </Dialog>
  )
}

function StartForm({ detail, onClose }: { detail: WorkflowDetail; onClose: () => void }) {
  const navigate = useNavigate()
  const form = useStartForm(detail)
  const [busy, setBusy] = useState<'run' | 'dry' | null>(null)
  const [failure, setFailure] = useState<Problem | null>(null)
  const [dryRun, setDryRun] = useState<DryRun | null>(null)
  // The same key for a repeated request: a lost response never starts a second run.
  const key = useRef({ body: '', key: '' })
  const failureId = useId()

  const send = async (isDry: boolean) => {
    const body = form.request()
    if (!body || busy) return
    const text = JSON.stringify(body)
    if (key.current.body !== text) key.current = { body: text, key: crypto.randomUUID() }
    setBusy(isDry ? 'dry' : 'run')
    setFailure(null)
    try {
      const payload = isDry ? { ...body, dry_run: true } : body
      const response = await request<RunDetail | DryRun>('POST', '/runs', {
        body: form.files.length > 0 ? multipart(payload, form.files) : payload,
        headers: isDry ? {} : { 'idempotency-key': key.current.key },
      })
      if (isDry) setDryRun(response as DryRun)
      else await navigate({ to: '/runs/$id', params: { id: (response as RunDetail).id } })
    } catch (error) {
      setFailure(error instanceof Problem ? error : new Problem(0, { detail: String(error) }))
    }
    setBusy(null)
  }

  return (
    <Dialog open onClose={onClose} title={`Run ${detail.name}`} note={`version ${detail.version}`} onConfirm={() => void send(false)}>
      <form
        className="start-form" aria-describedby={failure ? failureId : undefined}
        onSubmit={(event) => {
          event.preventDefault()
          void send(false)
        }}
      >
        {form.isJson ? (
          <div className="fld">
            <label htmlFor="inputs-json">Inputs <span className="muted">JSON</span></label>
            <textarea id="inputs-json" className="input textarea code-input start-json" rows={6} spellCheck={false} autoFocus value={form.json} onChange={(event) => form.setJson(event.target.value)} aria-invalid={form.jsonError !== null} />
            {form.jsonError && <p className="small sev-error" role="alert">{form.jsonError}</p>}
          </div>
        ) : detail.inputs.map((input, index) => (
          <InputField key={input.name} input={input} value={form.typed[input.name] ?? ''} error={form.errors[input.name]} autoFocus={index === 0} onChange={(value) => form.setTyped({ ...form.typed, [input.name]: value })} />
        ))}
        <ScriptChoice detail={detail} form={form} />
        <Attachments form={form} />
        {failure && <p id={failureId} className="start-failure sev-error small" role="alert">{failure.detail || failure.title}</p>}
        {dryRun && <DryRunResult run={dryRun} />}
        <div className="row start-actions">
          {detail.inputs.length > 0 && <button type="button" className="link small" onClick={form.toggleJson}>{form.isJson ? 'Edit as a form' : 'Edit as JSON'}</button>}
          <span className="grow" />
          <Button action disabled={busy !== null} onClick={() => void send(true)}>Dry run</Button>
          <Button look="primary" type="submit" action disabled={busy !== null} shortcut="Ctrl Enter">Run</Button>
        </div>
      </form>
    </Dialog>
  )
}

type StartFormState = ReturnType<typeof useStartForm>

function useStartForm(detail: WorkflowDetail) {
  const hasForm = detail.inputs.length > 0
  const [isJson, setIsJson] = useState(!hasForm)
  const [typed, setTyped] = useState(() => initialValues(detail.inputs))
  const [json, setJson] = useState('{}')
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [jsonError, setJsonError] = useState<string | null>(null)
  const [usesScript, setUsesScript] = useState(true)
  const [script, setScript] = useState<string | null>(null)
  const [files, setFiles] = useState<File[]>([])
  useEffect(() => setErrors({}), [typed])
  useEffect(() => setJsonError(null), [json])
  const toggleJson = () => {
    if (!isJson) setJson(JSON.stringify(readForm(detail.inputs, typed).inputs, null, 2))
    setIsJson(!isJson)
  }
  /** The request, or `null` after showing what is wrong. */
  const build = () => {
    const common = { workflow: detail.name, version: detail.version, script: script?.trim() ? script : undefined, live: usesScript ? undefined : true }
    if (isJson) {
      const read = readJson(json)
      if ('error' in read) {
        setJsonError(read.error)
        return null
      }
      return { ...common, inputs: read.inputs }
    }
    const read = readForm(detail.inputs, typed)
    if (Object.keys(read.errors).length > 0) {
      setErrors(read.errors)
      document.getElementById(`input-${Object.keys(read.errors)[0]}`)?.focus()
      return null
    }
    return { ...common, inputs: read.inputs }
  }
  return { isJson, toggleJson, typed, setTyped, json, setJson, errors, jsonError, usesScript, setUsesScript, script, setScript, files, setFiles, request: build }
}

/** Responses from a script: no model or tool is called, and no approval is requested. */
function ScriptChoice({ detail, form }: { detail: WorkflowDetail; form: StartFormState }) {
  const example = (detail as WorkflowDetail & { script?: { name: string } | null }).script
  return (
    <div className="start-script">
      {example && form.script === null && (
        <label className="check-line">
          <input type="checkbox" checked={form.usesScript} onChange={(event) => form.setUsesScript(event.target.checked)} />
          <span>Use responses scripted in <code>{example.name}</code></span>
        </label>
      )}
      {form.script === null
        ? <button type="button" className="link small" onClick={() => form.setScript('')}>{example ? 'Use another script' : 'Answer calls from a script'}</button>
        : (
          <div className="fld">
            <label htmlFor="start-script">Script <span className="muted">YAML: responses by step; calls that it answers are not performed</span></label>
            <textarea id="start-script" className="input textarea code-input start-json" rows={5} spellCheck={false} placeholder="draft: Hello" value={form.script} onChange={(event) => form.setScript(event.target.value)} />
            <button type="button" className="link small" onClick={() => form.setScript(null)}>Remove the script</button>
          </div>
        )}
    </div>
  )
}

function Attachments({ form }: { form: StartFormState }) {
  const picker = useRef<HTMLInputElement>(null)
  return (
    <div className="start-files">
      {form.files.map((file) => (
        <p key={file.name} className="row small">
          <span className="clip">{file.name}</span><span className="muted">{formatBytes(file.size)}</span><span className="grow" />
          <IconButton extraSmall label={`Remove ${file.name}`} icon={X} size={13} onClick={() => form.setFiles(form.files.filter((other) => other !== file))} />
        </p>
      ))}
      <input
        ref={picker} type="file" multiple hidden aria-label="Files" data-testid="start-files"
        onChange={(event) => {
          form.setFiles([...form.files, ...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
      <Button look="quiet" small icon={Paperclip} onClick={() => picker.current?.click()}>Attach files</Button>
    </div>
  )
}

function multipart(body: unknown, files: File[]): FormData {
  const parts = new FormData()
  parts.append('request', new Blob([JSON.stringify(body)], { type: 'application/json' }))
  for (const file of files) parts.append('file', file, file.name)
  return parts
}
