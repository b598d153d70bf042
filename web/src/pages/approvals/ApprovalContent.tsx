import type { ApprovalRecord } from '../../api/approvals.ts'
import { isRecord } from '../../api/client.ts'
import { shortValue } from '../../ui/format.ts'
import { JsonTree } from '../../ui/JsonTree.tsx'
import Markdown, { MarkdownLine } from '../../ui/Markdown.tsx'
import { splitPrompt } from './order.ts'

/** The question, and what the approvers decide on. */
export function ApprovalContent({ approval }: { approval: ApprovalRecord }) {
  const { question, content } = splitPrompt(approval.prompt)
  return (
    <>
      <h1 className="question" tabIndex={-1}>{question === '' ? `${approval.step} needs an answer` : <MarkdownLine text={question} />}</h1>
      {content !== '' && <div className="quote"><Markdown text={content} /></div>}
      <Shown value={approval.content} />
      <Changes approval={approval} />
    </>
  )
}

/** What a workflow shows beside the prompt: text, or named values. */
function Shown({ value }: { value: unknown }) {
  if (value === null || value === undefined || (isRecord(value) && Object.keys(value).length === 0)) return null
  if (typeof value === 'string') return <div className="quote"><Markdown text={value} /></div>
  if (!isRecord(value)) return <div className="quote json"><JsonTree value={value} /></div>
  return (
    <dl className="quote shown">
      {Object.entries(value).map(([name, part]) => (
        <div key={name} className="shown-row">
          <dt>{name}</dt>
          <dd>{typeof part === 'string' ? part : typeof part === 'object' && part !== null ? <div className="json"><JsonTree value={part} /></div> : <code>{String(part)}</code>}</dd>
        </div>
      ))}
    </dl>
  )
}

/** What differs from the version on which people voted before. */
function Changes({ approval }: { approval: ApprovalRecord }) {
  if (approval.changes.length === 0) return null
  return (
    <section className="changed" aria-label="Changes">
      <b>Changed since the previous version. Earlier votes no longer count.</b>
      <dl className="kv">
        {approval.changes.map((change, index) => [
          <dt key={`path ${index}`}>{String(change.path)}</dt>,
          <dd key={`values ${index}`}><del>{shortValue(change.before, 80)}</del> <ins>{shortValue(change.after, 80)}</ins></dd>,
        ])}
      </dl>
    </section>
  )
}
