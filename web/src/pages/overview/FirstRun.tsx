import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ClipboardPaste, Play, Plus } from 'lucide-react'
import { useState } from 'react'
import { Problem, post } from '../../api/client.ts'
import { templatesQuery } from '../../api/queries.ts'
import type { Run, Template, WorkflowSummary } from '../../api/types.ts'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { newKey } from '../../ui/newKey.ts'
import { showToast } from '../../ui/toasts.tsx'
import { type ExampleKind, ExamplePicture } from './ExamplePicture.tsx'

interface Card {
  name: string
  picture: ExampleKind
  dialect: string
  description: string
  start: () => Promise<void>
  verb: string
}

/** An empty store: examples that run without a key, a way to write a workflow, and three commands. */
export function FirstRun({ workflows }: { workflows: WorkflowSummary[] }) {
  const navigate = useNavigate()
  const templates = useQuery(templatesQuery).data ?? []
  const [busy, setBusy] = useState<string | null>(null)
  const runTemplate = async (template: Template) => {
    if (!workflows.some((workflow) => workflow.name === template.title)) await post('/workflows', { text: template.text, name: template.title })
    if (template.dialect === 'session') return void navigate({ to: '/sessions/$document/$id', params: { document: template.title, id: 'main' } })
    const run = await post<Run>('/runs', { workflow: template.title, script: template.script ?? undefined, inputs: template.inputs ?? undefined }, { 'idempotency-key': newKey() })
    void navigate({ to: '/runs/$id', params: { id: run.id } })
  }
  const cards: Card[] = workflows.length > 0
    ? variedWorkflows(workflows).map((workflow) => ({
        name: workflow.name, picture: pictureOf(workflow), dialect: workflow.dialect, description: workflow.description ?? '', verb: workflow.dialect === 'session' ? 'Open a session' : `Run ${workflow.name}`,
        start: async () => {
          if (workflow.dialect === 'session') await navigate({ to: '/sessions/$document/$id', params: { document: workflow.name, id: 'main' } })
          else await navigate({ to: '.', search: (old) => ({ ...old, run: workflow.name }) as never })
        },
      }))
    : examplesOf(templates).map(({ template, picture }) => ({
        name: template.title, picture, dialect: template.dialect, description: sentence(template.description), verb: template.dialect === 'session' ? 'Open a session' : `Run ${template.title}`,
        start: () => runTemplate(template),
      }))
  const start = async (card: Card) => {
    setBusy(card.name)
    try {
      await card.start()
    } catch (error) {
      showToast({ text: error instanceof Problem ? error.message : String(error) })
    }
    setBusy(null)
  }
  return (
    <main id="main" className="page-scroll">
      <div className="page first">
        <h1>Nothing has run yet</h1>
        <p className="lead">Start with an example. Its model responses are scripted, so it needs no API key and no network. Then open the run to see why it took each branch.</p>
        <div className="ex3">
          {cards.map((card, index) => (
            <article key={card.name} className="ex-card card">
              <div className="ex-pic"><ExamplePicture kind={card.picture} /></div>
              <div className="ex-body">
                <div className="row"><h2>{card.name}</h2><span className="dialect">{card.dialect}</span></div>
                <p>{card.description}</p>
                <Button look={index === 0 ? 'primary' : 'plain'} icon={Play} action disabled={busy !== null} onClick={() => void start(card)}>{card.verb}</Button>
              </div>
            </article>
          ))}
        </div>
        <div className="or">
          <div className="card or-card">
            <h2>Write your own</h2>
            <p className="soft">Start from a template, paste a document, or drop a file anywhere on this page.</p>
            <div className="row or-actions">
              <Link className="btn" to="/workflows" search={{ new: 'template' }}><Icon of={Plus} size={15} />New workflow</Link>
              <Link className="btn" to="/workflows" search={{ new: 'paste' }}><Icon of={ClipboardPaste} size={15} />Paste a document</Link>
            </div>
          </div>
          <div className="card or-card">
            <h2>From your terminal</h2>
            <div className="code term">
              {['branchpoint new support --template approval', 'branchpoint check --watch support.yaml', 'branchpoint run support.yaml'].map((command) => (
                <div key={command} className="cl"><span className="t"><span className="c">$</span> {command}</span></div>
              ))}
            </div>
            <p className="muted small or-note">Runs started in the terminal appear here live.</p>
          </div>
        </div>
        <p className="muted small foot">Branchpoint supports five dialects: steps, flow, machine, graph and session. {workflows.length > 0 ? <Link className="link" to="/workflows">See all {workflows.length} workflows</Link> : <Link className="link" to="/workflows" search={{ new: 'template' }}>See all {templates.length} templates</Link>}</p>
      </div>
    </main>
  )
}

/** The templates of the first page: one with an approval, one with a loop, and one with a tool gate. */
const EXAMPLES: { name: string; picture: ExampleKind }[] = [{ name: 'approval', picture: 'approval' }, { name: 'loop', picture: 'loop' }, { name: 'session', picture: 'gate' }]

function examplesOf(templates: Template[]): { template: Template; picture: ExampleKind }[] {
  const chosen = EXAMPLES.flatMap(({ name, picture }) => templates.filter((template) => template.name === name).map((template) => ({ template, picture })))
  return chosen.length > 0 ? chosen : templates.slice(0, 3).map((template) => ({ template, picture: 'approval' }))
}

function pictureOf(workflow: WorkflowSummary): ExampleKind {
  if (workflow.dialect === 'session') return 'gate'
  return (workflow.structure?.loops ?? 0) > (workflow.structure?.approvals ?? 0) ? 'loop' : 'approval'
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.?!]$/.test(capital) ? capital : `${capital}.`
}

/** Three workflows that show different things: an approval, a loop, a tool gate. */
function variedWorkflows(workflows: WorkflowSummary[]): WorkflowSummary[] {
  const best = (kind: ExampleKind, holds: (workflow: WorkflowSummary) => boolean) => {
    const fitting = workflows.filter((workflow) => pictureOf(workflow) === kind && holds(workflow))
    return fitting.find((workflow) => workflow.description) ?? fitting[0]
  }
  const chosen = [best('approval', (workflow) => (workflow.structure?.approvals ?? 0) > 0), best('loop', () => true), best('gate', () => true)]
  const varied = chosen.filter((workflow): workflow is WorkflowSummary => workflow !== undefined)
  return [...varied, ...workflows.filter((workflow) => !varied.includes(workflow))].slice(0, 3)
}
