import type { Decision, Step, ValueRead } from '../../api/types.ts'
import { shortValue } from '../../ui/format.ts'
import { isSecret } from '../../ui/JsonTree.tsx'
import type { TraceStore } from './traceStore.ts'

/** The values that a decision read, each with a link to the step that set it. */
export function ValuesUsed({ decision, step, store, onOpen }: { decision: Decision; step: Step; store: TraceStore; onOpen: (key: string) => void }) {
  return (
    <>
      <p className="section">Values used</p>
      <div className="values">
        {decision.values.map((value) => {
          const setter = setterOf(value, step, store)
          return (
            <div key={value.path}>
              <code className="clip" title={value.path}>{value.path}</code>
              <b className="mono clip" title={isSecret(value.value) ? undefined : shortValue(value.value, 400)}>{isSecret(value.value) ? '••••••' : shortValue(value.value, 48)}</b>
              {setter ? <button type="button" className="link small setter" onClick={() => onOpen(setter.key)}>set by {setter.label}</button> : <span className="muted small setter">{originOf(value.path)}</span>}
            </div>
          )
        })}
      </div>
    </>
  )
}

/** The step whose output a path reads: as the server says, or by its name in the path. */
function setterOf(value: ValueRead, step: Step, store: TraceStore): { key: string; label: string } | null {
  const setBy = (value as { set_by?: { step: string; key?: string | null } | null }).set_by
  if (setBy?.key) return { key: setBy.key, label: labelOf(store.step(setBy.key), setBy.step) }
  const name = /^(?:steps?|states|nodes)\.([^.[\]]+)/.exec(value.path)?.[1]
  if (!name) return null
  const same = store.executions(name).filter((other) => other.iterations.every((iteration, index) => step.iterations[index]?.index === iteration.index))
  const setter = same.at(-1)
  return setter ? { key: setter.key, label: labelOf(setter, name) } : null
}

function labelOf(step: Step | undefined, name: string): string {
  const round = step?.iterations.at(-1)
  return round ? `${name} [${round.index}]` : name
}

function originOf(path: string): string {
  if (/^(inputs\.|agent\.input\b)/.test(path)) return 'run input'
  if (/^metadata\b/.test(path)) return 'run metadata'
  return ''
}
