import { ArrowRight, Bot, TriangleAlert, Wrench } from 'lucide-react'
import { lazy, Suspense } from 'react'
import type { ChatLine } from '../../api/types.ts'
import { Sentence } from '../../ui/Sentence.tsx'
import { Icon } from '../../ui/icons.tsx'
import { JsonTree } from '../../ui/JsonTree.tsx'
import { When } from '../../ui/Values.tsx'

const Markdown = lazy(() => import('../../ui/Markdown.tsx'))

/** A line of a chat. A change of the step is shown where it happened. */
export function Line({ line, agent, previous }: { line: ChatLine; agent: string; previous?: ChatLine }) {
  const moved = line.step && line.step !== previous?.step ? line.step : null
  return (
    <>
      {line.role === 'tool' ? <Tool line={line} /> : <Message line={line} agent={agent} />}
      {moved && <p className="chat-step"><span className="moved"><Icon of={ArrowRight} size={12} /><span className="sr">changed the step to </span><b>{moved}</b></span></p>}
    </>
  )
}

function Message({ line, agent }: { line: ChatLine; agent: string }) {
  const isUser = line.role === 'user'
  return (
    <article className={`said-by ${isUser ? 'by-user' : 'by-agent'}`} aria-label={isUser ? 'You' : agent}>
      {!isUser && <span className="tile sm" aria-hidden><Icon of={Bot} size={13} /></span>}
      <div className="bubble">
        {line.text && (isUser ? <p className="plain">{line.text}</p> : <Suspense fallback={<p className="plain">{line.text}</p>}><Markdown text={line.text} /></Suspense>)}
        {line.error && (
          <p className="sev-error chat-error" role="alert"><Icon of={TriangleAlert} size={14} /><span><Sentence text={line.error.message} whole /> <span className="mono11">{line.error.kind}</span></span></p>
        )}
        {line.at && <span className="muted small chat-at"><When at={line.at} /></span>}
      </div>
    </article>
  )
}

function Tool({ line }: { line: ChatLine }) {
  const isRunning = (line.result === null || line.result === undefined) && !line.error
  return (
    <details className="chat-tool">
      <summary>
        <Icon of={Wrench} size={13} /><b className="mono">{line.tool}</b>
        <span className={`small ${line.error ? 'sev-error' : 'muted'}`}>{line.error ? line.error.message : isRunning ? 'running' : 'completed'}</span>
      </summary>
      <div className="json">
        <JsonTree name="arguments" value={line.arguments} />
        {!isRunning && <JsonTree name={line.error ? 'error' : 'result'} value={line.error ?? line.result} />}
      </div>
    </details>
  )
}

/** The reply so far, while the model writes it. */
export function StreamedReply({ text, agent }: { text: string; agent: string }) {
  return (
    <article className="said-by by-agent" aria-label={`${agent} is writing`} aria-busy="true">
      <span className="tile sm" aria-hidden><Icon of={Bot} size={13} /></span>
      <div className="bubble"><p className="plain">{text}<span className="caret" aria-hidden /></p></div>
    </article>
  )
}

export function Pending({ agent }: { agent: string }) {
  return (
    <p className="said-by by-agent" role="status">
      <span className="tile sm" aria-hidden><Icon of={Bot} size={13} /></span><span className="muted">{agent} is working…</span>
    </p>
  )
}
