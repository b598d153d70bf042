import { useEffect, useId, useState } from 'react'
import { isRecord } from '../../../api/client.ts'
import { type Schema, typeLabel, typesOf } from '../../../source/schema.ts'
import { Select } from '../../../ui/Select.tsx'

interface FieldEditorProps {
  name: string
  schema: Schema
  root: Schema
  value: unknown
  readOnly: boolean
  /** `undefined` removes the field. */
  onCommit: (value: unknown) => void
}

/** A field of a step. What was typed is committed when the field is left, or with Enter. */
export function FieldEditor({ name, schema, root, value, readOnly, onCommit }: FieldEditorProps) {
  const id = useId()
  const kind = kindOf(schema, root, value)
  const [text, setText] = useState(() => asText(value, kind))
  const [error, setError] = useState<string | null>(null)
  useEffect(() => {
    setText(asText(value, kind))
    setError(null)
  }, [JSON.stringify(value), kind])
  const commit = (typed: string) => {
    if (typed === asText(value, kind)) return setError(null)
    const parsed = parse(typed, kind)
    if (parsed === undefined && typed.trim() !== '') return setError(`${name} must be ${kind === 'number' ? 'a number' : 'JSON'}.`)
    setError(null)
    onCommit(parsed)
  }
  const note = typeof schema.description === 'string' ? schema.description.replaceAll('`', '') : undefined
  if (kind === 'boolean') {
    return (
      <label className="check-line field-line" title={note}>
        <input type="checkbox" checked={value === true} disabled={readOnly} onChange={(event) => onCommit(event.target.checked)} />{name}
      </label>
    )
  }
  const options = enumOf(schema, root)
  const shared = {
    id, value: text, readOnly, spellCheck: false, 'aria-invalid': error !== null, 'aria-describedby': error ? `${id}-error` : undefined,
    onBlur: () => commit(text),
  }
  return (
    <div className="field">
      <label className="label" htmlFor={id} title={note}>{name} <span className="field-type">{kind === 'text' || kind === 'long' ? '' : typeLabel(root, schema)}</span></label>
      {options && !readOnly ? (
        <Select label={name} hideLabel value={text} style={{ width: '100%' }} onChange={(next) => onCommit(next === '' ? undefined : valueIn(options, next))} options={[{ value: '', label: 'not set' }, ...options.map((option) => ({ value: String(option), label: String(option) }))]} />
      ) : kind === 'text' || kind === 'number' ? (
        <span className={`input quiet${error ? ' bad' : ''}`}>
          <input
            {...shared} className={kind === 'number' ? 'mono' : ''} onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => event.key === 'Enter' && commit(text)}
          />
        </span>
      ) : (
        <textarea
          {...shared} className={`input textarea quiet${kind === 'json' ? ' code-input' : ''}`} rows={Math.min(8, Math.max(2, text.split('\n').length))} onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && commit(text)}
        />
      )}
      {error && <p id={`${id}-error`} className="small sev-error" role="alert">{error}</p>}
    </div>
  )
}

type Kind = 'boolean' | 'number' | 'text' | 'long' | 'json'

function kindOf(schema: Schema, root: Schema, value: unknown): Kind {
  if (typeof value === 'string') return value.includes('\n') || isLong(schema, value) ? 'long' : 'text'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return 'number'
  if (value !== null && value !== undefined) return 'json'
  const types = typeLabel(root, schema).split(' or ')
  if (types.includes('boolean') && types.length === 1) return 'boolean'
  if (types.includes('text') || enumOf(schema, root)) return isLong(schema, '') ? 'long' : 'text'
  if (types.includes('number') || types.includes('integer')) return 'number'
  return types.includes('list') || types.includes('object') ? 'json' : 'text'
}

/** Prompts and templates need room. */
function isLong(schema: Schema, value: string): boolean {
  return value.length > 60 || /prompt|template|text for people/i.test(typeof schema.description === 'string' ? schema.description : '')
}

function enumOf(schema: Schema, root: Schema): unknown[] | null {
  const own = Array.isArray(schema.enum) ? schema.enum : Array.isArray(schema.anyOf) ? schema.anyOf.flatMap((part: unknown) => (isRecord(part) && Array.isArray(part.enum) ? part.enum : [])) : []
  const values = own.filter((value) => value !== null)
  return values.length > 0 && !typesOf(schema).includes('object') && root ? values : null
}

function valueIn(options: unknown[], text: string): unknown {
  return options.find((option) => String(option) === text)
}

function asText(value: unknown, kind: Kind): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return kind === 'json' ? JSON.stringify(value, null, 2) : String(value)
}

function parse(text: string, kind: Kind): unknown {
  if (text.trim() === '') return undefined
  if (kind === 'number') return Number.isFinite(Number(text)) ? Number(text) : undefined
  if (kind !== 'json') return text
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
