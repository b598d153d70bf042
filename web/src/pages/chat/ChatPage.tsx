import '../../styles/sessions.css'
import '../../styles/chat.css'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { ChevronRight, Plus, SendHorizontal } from 'lucide-react'
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { post, Problem, segment } from '../../api/client.ts'
import { agentQuery, chatQuery, meQuery, sessionQuery } from '../../api/queries.ts'
import type { AgentRecord, Chat } from '../../api/types.ts'
import { useTopics } from '../../live/connect.ts'
import { announce } from '../../ui/announce.tsx'
import { Button } from '../../ui/Button.tsx'
import { GateIcon, Icon } from '../../ui/icons.tsx'
import { newKey } from '../../ui/newKey.ts'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { showToast } from '../../ui/toasts.tsx'
import { Line, Pending, StreamedReply } from './Lines.tsx'
import { useStreamedText } from './streamedText.ts'

/** A chat with an agent: its replies stream, and its tool calls and steps are shown between them. */
export function ChatPage() {
  const { document, id } = useParams({ from: '/chat/$document/$id' })
  useTitle(`Chat ${id} with ${document}`)
  const agent = useQuery(agentQuery(document))
  const chat = useQuery(chatQuery(document, id))
  useTopics([`session:${document}/${id}`, ...(chat.data?.run ? [`run:${chat.data.run}`] : [])])
  const failed = agent.error ?? chat.error
  if (failed) return <main id="main" className="page-scroll"><Failed what={`the chat with ${document}`} error={failed} onRetry={() => void chat.refetch()} /></main>
  if (!agent.data || !chat.data) return <main id="main" className="page-scroll" aria-busy="true"><SkeletonRows rows={5} height={44} /></main>
  return <Conversation key={`${document}/${id}`} agent={agent.data} chat={chat.data} document={document} id={id} />
}

function Conversation({ agent, chat, document, id }: { agent: AgentRecord; chat: Chat; document: string; id: string }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const may = useQuery(meQuery).data?.can.operate === true
  const [text, setText] = useState('')
  const send = useMutation({
    mutationFn: (message: string) => post<{ turn: { text?: string } | null; run: string }>(`/agents/${segment(document)}/sessions/${segment(id)}/turns`, { text: message }),
    onError: (error) => showToast({ text: error instanceof Problem ? error.message : String(error) }),
    onSuccess: (turn) => {
      if (turn.turn?.text) announce(`${agent.name ?? document} replied: ${turn.turn.text.slice(0, 200)}`)
    },
    onSettled: () => {
      for (const key of ['chat', 'session']) void client.invalidateQueries({ queryKey: [key, document, id] })
      void client.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  const isBusy = send.isPending || chat.in_turn
  const streamed = useStreamedText(chat.run ?? null, isBusy)
  const isUnsent = send.isPending && !chat.lines.some((line) => line.role === 'user' && line.text === send.variables && chat.in_turn)
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Not returned: newer browsers return a promise, which is no cleanup.
    void end.current?.scrollIntoView({ block: 'nearest' })
  }, [chat.lines.length, streamed, isUnsent])
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    const message = text.trim()
    if (message === '' || isBusy) return
    setText('')
    send.mutate(message)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    submit()
  }
  const begin = () => void navigate({ to: '/chat/$document/$id', params: { document, id: newKey().slice(0, 8) } })
  return (
    <main id="main" className="chat">
      <div className="d-head">
        <div className="crumb">
          <Link className="clip" to="/workflows/$name" params={{ name: document }}>{agent.name ?? document}</Link><Icon of={ChevronRight} size={14} /><h1 className="clip">{id}</h1>
        </div>
        <CurrentStep document={document} id={id} isOpen={Boolean(chat.run)} />
        <span className="grow" />
        {chat.run && <Link className="btn btn-small" to="/sessions/$document/$id" params={{ document, id }}><GateIcon size={13} />Tool gate</Link>}
        {chat.run && <Link className="btn btn-small" to="/runs/$id" params={{ id: chat.run }}>Trace</Link>}
        <Button small icon={Plus} onClick={begin}>New chat</Button>
      </div>
      <div className="chat-lines" role="log" aria-label="Conversation" tabIndex={0}>
        {chat.lines.length === 0 && !isUnsent && <Greeting agent={agent} onPrompt={(prompt) => may && send.mutate(prompt)} />}
        {chat.lines.map((line, index) => <Line key={index} line={line} agent={agent.name ?? document} previous={chat.lines[index - 1]} />)}
        {isUnsent && <Line line={{ role: 'user', text: send.variables, at: '', tool: null, arguments: null, result: null, error: null, step: null }} agent="" />}
        {isBusy && (streamed !== '' ? <StreamedReply text={streamed} agent={agent.name ?? document} /> : <Pending agent={agent.name ?? document} />)}
        <div ref={end} />
      </div>
      {may
        ? (
          <form className="chat-input" onSubmit={submit}>
            <textarea
              className="textarea" rows={2} value={text} placeholder={agent.placeholder ?? 'Write a message'} aria-label="Message" autoFocus
              onChange={(event) => setText(event.target.value)} onKeyDown={onKeyDown}
            />
            <Button look="primary" type="submit" icon={SendHorizontal} action disabled={isBusy || text.trim() === ''}>Send</Button>
          </form>
        )
        : <p className="chat-input soft small">Your role can read this chat, but not write in it.</p>}
    </main>
  )
}

function CurrentStep({ document, id, isOpen }: { document: string; id: string; isOpen: boolean }) {
  const session = useQuery({ ...sessionQuery(document, id), enabled: isOpen }).data
  if (!session?.view.activeStep) return null
  const offered = session.tools.filter((tool) => tool.offered).length
  return <span className="muted small clip">in <b className="soft">{session.view.activeStep}</b>, {offered} of {session.tools.length} tools</span>
}

function Greeting({ agent, onPrompt }: { agent: AgentRecord; onPrompt: (prompt: string) => void }) {
  return (
    <div className="chat-greeting">
      <h2>{agent.name ?? agent.document}</h2>
      {agent.initial_messages.map((message, index) => <p key={index} className="soft">{message}</p>)}
      {agent.prompts.length > 0 && (
        <div className="chat-prompts">
          {agent.prompts.map((prompt) => <button key={prompt} type="button" className="btn btn-small" onClick={() => onPrompt(prompt)}>{prompt}</button>)}
        </div>
      )}
    </div>
  )
}
