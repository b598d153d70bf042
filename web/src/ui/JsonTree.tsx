import { ChevronDown, ChevronRight, Lock } from 'lucide-react'
import { useState } from 'react'
import { isRecord } from '../api/client.ts'
import { formatBytes } from './format.ts'
import { Icon } from './icons.tsx'

const MANY = 100

/** A JSON value as a tree that can be collapsed. Long lists show their first entries. */
export function JsonTree({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  const [open, setOpen] = useState(depth < 2)
  const [limit, setLimit] = useState(MANY)
  const entries = entriesOf(value)
  if (entries === null) {
    return (
      <div className="json-row">
        <span className="json-fold" />
        {name !== undefined && <><span className="k">{name}</span><span className="o">: </span></>}
        <Scalar value={value} />
      </div>
    )
  }
  const brackets = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return (
    <div>
      <div className="json-row">
        <button type="button" className="json-fold" aria-expanded={open} aria-label={`${open ? 'Collapse' : 'Expand'} ${name ?? 'value'}`} onClick={() => setOpen(!open)}>
          <Icon of={open ? ChevronDown : ChevronRight} size={13} />
        </button>
        {name !== undefined && <><span className="k">{name}</span><span className="o">: </span></>}
        <span className="o">{brackets[0]}{open && entries.length > 0 ? '' : `${entries.length === 0 ? '' : '…'}${brackets[1]}`}</span>
        {!open && entries.length > 0 && <span className="muted small">&nbsp;{entries.length} {Array.isArray(value) ? 'items' : 'fields'}</span>}
      </div>
      {open && entries.length > 0 && (
        <div className="json-body">
          {entries.slice(0, limit).map(([key, child]) => <JsonTree key={key} name={key} value={child} depth={depth + 1} />)}
          {entries.length > limit && (
            <button type="button" className="link small" onClick={() => setLimit(limit + MANY)}>
              Show {Math.min(MANY, entries.length - limit)} of {entries.length - limit} more
            </button>
          )}
          <span className="o">{brackets[1]}</span>
        </div>
      )}
    </div>
  )
}

function entriesOf(value: unknown): [string, unknown][] | null {
  if (isCut(value) || isSecret(value)) return null
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item])
  if (isRecord(value)) return Object.entries(value)
  return null
}

export function isCut(value: unknown): value is { $cut: { bytes: number; text: string } } {
  return isRecord(value) && isRecord(value.$cut) && typeof value.$cut.text === 'string'
}

export function isSecret(value: unknown): boolean {
  return value === '••••••' || (isRecord(value) && value.$secret === true)
}

function Scalar({ value }: { value: unknown }) {
  if (isSecret(value)) return <span className="secret"><Icon of={Lock} size={12} />••••••</span>
  if (isCut(value)) return <span className="s">{value.$cut.text}… <span className="muted">({formatBytes(value.$cut.bytes)})</span></span>
  if (typeof value === 'string') return <span className="s json-text">{JSON.stringify(value)}</span>
  if (typeof value === 'number') return <span className="n">{String(value)}</span>
  return <span className="w">{String(value)}</span>
}
