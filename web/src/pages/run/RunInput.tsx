import { isRecord } from '../../api/client.ts'
import type { RunDetail } from '../../api/types.ts'
import { shortValue } from '../../ui/format.ts'
import { isSecret } from '../../ui/JsonTree.tsx'

const MOST = 6

/** The input of a run: its text, and its other values. */
export function RunInput({ run }: { run: RunDetail }) {
  const { text, values } = inputsOf(run)
  if (text === null && values.length === 0) return null
  return (
    <div className="runfacts">
      <p className="label">Input</p>
      {text !== null && <p className="small input-text" title={text.slice(0, 2000)}>{text}</p>}
      {values.length > 0 && (
        <dl className="kv">
          {values.slice(0, MOST).map(([name, value]) => (
            <div key={name} className="kv-row"><dt className="clip" title={name}>{name}</dt><dd>{isSecret(value) ? '••••••' : <code title={shortValue(value, 400)}>{shortValue(value, 60)}</code>}</dd></div>
          ))}
        </dl>
      )}
      {run.script !== 'none' && <p className="muted small">{run.script === 'script' ? 'Calls are answered by a script.' : 'Calls are answered by a recording.'}</p>}
      {values.length > MOST && <p className="muted small">{values.length - MOST} more</p>}
    </div>
  )
}

function inputsOf(run: RunDetail): { text: string | null; values: [string, unknown][] } {
  const values: [string, unknown][] = []
  let text: string | null = null
  const add = (prefix: string, record: Record<string, unknown>) => {
    for (const [name, value] of Object.entries(record)) {
      if (name === 'input' && typeof value === 'string' && text === null) text = value
      else if (isRecord(value) && prefix === '') add(`${name}.`, value)
      else values.push([`${prefix}${name}`, value])
    }
  }
  if (typeof run.input === 'string') text = run.input
  else if (isRecord(run.input)) add('', run.input)
  else if (run.input != null) values.push(['input', run.input])
  const facts = isRecord(run.facts) ? run.facts : {}
  if (isRecord(facts.metadata)) add('metadata.', facts.metadata)
  return { text, values }
}
