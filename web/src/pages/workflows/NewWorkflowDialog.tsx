import './newWorkflow.css'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { get, post, Problem, segment } from '../../api/client.ts'
import { templatesQuery, workflowsQuery } from '../../api/queries.ts'
import type { Template, WorkflowDetail } from '../../api/types.ts'
import { Button, Segments } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { openDraft } from '../workflow/draft/draft.ts'
import { capital } from '../workflow/Problems.tsx'
import { draftToImport, setDraftToImport } from './importDraft.ts'
import { ImportedText, useImport } from './ImportedText.tsx'
import { nameProblem, named, uniqueName } from './names.ts'

type How = 'template' | 'paste' | 'import'

/** A new workflow from a template, from pasted text or from a file. What is imported is checked and shown first; saving is a separate step. */
export default function NewWorkflowDialog({ how, onClose }: { how: string; onClose: () => void }) {
  const navigate = useNavigate()
  const client = useQueryClient()
  const [imported] = useState(draftToImport)
  const [chosen, setChosen] = useState<How>(imported ? 'import' : how === 'import' || how === 'paste' ? how : 'template')
  const names = useQuery(workflowsQuery()).data?.items.map((workflow) => workflow.name) ?? []
  const templates = useQuery(templatesQuery)
  const [template, setTemplate] = useState<Template | null>(null)
  const [typedName, setName] = useState<string | null>(imported?.name ?? null)
  const [failure, setFailure] = useState<Problem | null>(null)
  const [busy, setBusy] = useState(false)
  const source = useImport(imported?.text ?? '', typedName ?? '')

  const selected = template ?? templates.data?.[0] ?? null
  const suggested = chosen === 'template' ? uniqueName(selected?.title ?? 'workflow', names) : source.ownName ?? ''
  const name = typedName ?? suggested
  const exists = chosen !== 'template' && names.includes(name)
  const problem = nameProblem(name)
  const canCreate = problem === null && !busy && (chosen === 'template' ? selected !== null : source.canSave)

  const close = () => {
    setDraftToImport(null)
    onClose()
  }
  const open = async (workflow: string) => {
    setDraftToImport(null)
    await navigate({ to: '/workflows/$name', params: { name: workflow } })
  }
  const create = async () => {
    if (!canCreate || exists) return
    setBusy(true)
    setFailure(null)
    try {
      const text = chosen === 'template' && selected ? named(selected.text, selected.name, name) : source.text
      const saved = await post<WorkflowDetail>('/workflows', { text, name })
      void client.invalidateQueries({ queryKey: ['workflows'] })
      await open(saved.name)
    } catch (error) {
      setFailure(error instanceof Problem ? error : new Problem(0, { detail: String(error) }))
      setBusy(false)
    }
  }
  const openAsDraft = async () => {
    setBusy(true)
    try {
      const detail = await get<WorkflowDetail>(`/workflows/${segment(name)}`)
      const draft = await openDraft(detail, async () => detail.text)
      draft.edit(source.text, `import ${name}`)
      await draft.store()
      await open(name)
    } catch (error) {
      setFailure(error instanceof Problem ? error : new Problem(0, { detail: String(error) }))
      setBusy(false)
    }
  }
  return (
    <Dialog open onClose={close} title="New workflow" width={chosen === 'template' ? 560 : 760} onConfirm={() => void create()}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void create()
        }}
      >
        <Segments
          label="Start from" value={chosen} onChange={setChosen}
          options={[{ value: 'template', label: 'Template' }, { value: 'paste', label: 'Pasted text' }, { value: 'import', label: 'File' }]}
        />
        {chosen === 'template'
          ? <TemplateList templates={templates.data} error={templates.error} onRetry={() => void templates.refetch()} selected={selected} onSelect={setTemplate} />
          : <ImportedText source={source} how={chosen} onFile={(file) => setName(file)} />}
        <div className="fld">
          <label htmlFor="workflow-name">Name</label>
          <span className={`input${name !== '' && (problem || exists) ? ' bad' : ''}`}>
            <input id="workflow-name" value={name} autoComplete="off" spellCheck={false} onChange={(event) => setName(event.target.value)} aria-describedby="workflow-name-note" />
          </span>
          <p id="workflow-name-note" className="small muted">
            {name !== '' && problem}
            {exists && <>Workflow {name} already exists. Choose another name, or <button type="button" className="link" onClick={() => void openAsDraft()}>open it with this text as a draft</button>.</>}
          </p>
        </div>
        {failure && <p className="sev-error small" role="alert">{failure.detail || failure.title}</p>}
        <div className="row new-actions">
          <span className="muted small">{chosen !== 'template' && source.text !== '' && !source.canSave && !source.isPending ? 'Fix all errors to create the workflow' : ''}</span>
          <span className="grow" />
          <Button look="quiet" onClick={close}>Cancel</Button>
          <Button look="primary" type="submit" action shortcut="Ctrl Enter" disabled={!canCreate || exists}>Create {name === '' ? 'workflow' : name}</Button>
        </div>
      </form>
    </Dialog>
  )
}

function TemplateList({ templates, error, onRetry, selected, onSelect }: {
  templates: Template[] | undefined
  error: unknown
  onRetry: () => void
  selected: Template | null
  onSelect: (template: Template) => void
}) {
  if (error) return <Failed what="the templates" error={error} onRetry={onRetry} />
  if (!templates) return <SkeletonRows rows={5} height={40} />
  return (
    <div className="template-list" role="radiogroup" aria-label="Template">
      {templates.map((template) => (
        <label key={template.name} className="template">
          <input type="radio" name="template" checked={template === selected} onChange={() => onSelect(template)} />
          <span className="grow"><b>{template.title}</b><span className="soft small">{capital(template.description)}</span></span>
          <span className="dialect">{template.dialect}</span>
        </label>
      ))}
    </div>
  )
}
