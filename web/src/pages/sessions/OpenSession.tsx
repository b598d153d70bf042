import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { DoorOpen } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { get, Problem, query, segment } from '../../api/client.ts'
import { agentQuery, workflowsQuery } from '../../api/queries.ts'
import { Button } from '../../ui/Button.tsx'
import { GateIcon, Icon } from '../../ui/icons.tsx'
import { Empty, Failed, SkeletonRows } from '../../ui/States.tsx'

/** Opens a session that does not exist yet. A host does the same with its first request. */
export function OpenSession({ document, id }: { document: string; id: string }) {
  const agent = useQuery(agentQuery(document))
  if (agent.isPending) return <section className="gate" aria-busy="true"><SkeletonRows rows={4} height={36} /></section>
  if (agent.isLoadingError) return <section className="gate"><Failed what={document} error={agent.error} onRetry={() => void agent.refetch()} /></section>
  return <OpenForm key={document} document={document} id={id} tools={agent.data.tools} chats={agent.data.chats} />
}

function OpenForm({ document, id, tools, chats }: { document: string; id: string; tools: string[]; chats: boolean }) {
  const client = useQueryClient()
  const [list, setList] = useState(tools.join(', '))
  const open = useMutation({
    mutationFn: () => get(`/agents/${segment(document)}/sessions/${segment(id)}${query({ tools: chats ? undefined : list })}`),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['sessions'] })
      void client.invalidateQueries({ queryKey: ['session', document, id] })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    open.mutate()
  }
  return (
    <section className="gate" aria-label="Open a session">
      <form className="open-session" onSubmit={submit}>
        <h1>Session {id} of {document} is not open</h1>
        <p className="soft">A session decides which tools an agent may use now. A host opens one with its first request; you can open one here to try it.</p>
        {!chats && (
          <label className="field">
            <span className="label">Tools of the agent, separated by commas</span>
            <span className="input"><input value={list} onChange={(event) => setList(event.target.value)} /></span>
          </label>
        )}
        {open.isError && <p className="sev-error small" role="alert">{open.error instanceof Problem ? open.error.message : String(open.error)}</p>}
        <div className="row">
          <Button look="primary" type="submit" icon={DoorOpen} action disabled={open.isPending}>Open session</Button>
          {chats && <Link className="btn" to="/chat/$document/$id" params={{ document, id }}>Chat</Link>}
        </div>
      </form>
    </section>
  )
}

/** Nothing has been opened yet: the documents that have sessions. */
export function NoSessions() {
  const navigate = useNavigate()
  const workflows = useQuery(workflowsQuery({ dialect: 'session' }))
  const documents = (workflows.data?.items ?? []).filter((workflow) => workflow.dialect === 'session')
  return (
    <main id="main" className="page-scroll">
      <Empty icon={GateIcon} title="No sessions yet" action={documents.length === 0 ? <Link className="btn btn-small" to="/workflows" search={{ new: 'template' }}>New workflow</Link> : undefined}>
        A session decides, event by event, which tools an agent may use. Sessions of hosts appear here as soon as they send their first request.
      </Empty>
      {documents.length > 0 && (
        <section className="card no-sessions" aria-label="Documents with sessions">
          <div className="card-head"><h2>Open a session of</h2></div>
          <div className="list">
            {documents.map((workflow) => (
              <button key={workflow.name} type="button" className="li" onClick={() => void navigate({ to: '/sessions/$document/$id', params: { document: workflow.name, id: 'main' } })}>
                <Icon of={GateIcon} /><b className="clip">{workflow.name}</b><span className="muted small grow clip">{workflow.description}</span>
              </button>
            ))}
          </div>
        </section>
      )}
    </main>
  )
}
