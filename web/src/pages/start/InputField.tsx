import type { InputDeclaration } from '../../api/types.ts'
import { Select } from '../../ui/Select.tsx'
import { choicesOf } from './startForm.ts'

/** One declared input: a text, number, choice, checkbox, JSON, or password field. */
export function InputField({ input, value, error, onChange, autoFocus }: {
  input: InputDeclaration
  value: string
  error: string | undefined
  onChange: (value: string) => void
  autoFocus: boolean
}) {
  const id = `input-${input.name}`
  const describedBy = error ? `${id}-error` : input.description ? `${id}-note` : undefined
  const shared = { id, value, 'aria-invalid': error !== undefined, 'aria-describedby': describedBy, autoFocus, required: input.required }
  const kind = kindOf(input)
  return (
    <div className="fld">
      {kind === 'boolean' ? (
        <label className="check-line"><input type="checkbox" id={id} checked={value === 'true'} onChange={(event) => onChange(String(event.target.checked))} />{input.name}</label>
      ) : (
        <label htmlFor={id}>{input.name} <span className="muted">{noteOf(input)}</span></label>
      )}
      {kind === 'enum' && (
        <Select
          label={input.name} hideLabel value={value} onChange={onChange} style={{ width: '100%', marginTop: 3 }}
          options={[...(input.required ? [] : [{ value: '', label: 'not set' }]), ...choicesOf(input).map((entry) => ({ value: textOf(entry), label: textOf(entry) }))]}
        />
      )}
      {kind === 'json' && <textarea {...shared} className="input textarea code-input start-json" rows={3} spellCheck={false} onChange={(event) => onChange(event.target.value)} />}
      {kind === 'text' && value.includes('\n') && <textarea {...shared} className="input textarea" rows={4} onChange={(event) => onChange(event.target.value)} />}
      {(kind === 'number' || kind === 'secret' || kind === 'text' && !value.includes('\n')) && (
        <span className={`input${error ? ' bad' : ''}`}>
          <input
            {...shared} type={kind === 'secret' ? 'password' : 'text'} inputMode={kind === 'number' ? 'decimal' : undefined}
            autoComplete={kind === 'secret' ? 'new-password' : 'off'} onChange={(event) => onChange(event.target.value)}
          />
        </span>
      )}
      {error ? <p id={`${id}-error`} className="small sev-error" role="alert">{error}</p> : input.description && <p id={`${id}-note`} className="small muted">{input.description}</p>}
    </div>
  )
}

function kindOf(input: InputDeclaration): 'secret' | 'enum' | 'boolean' | 'number' | 'json' | 'text' {
  if (input.secret) return 'secret'
  if (choicesOf(input).length > 0) return 'enum'
  if (input.type === 'boolean') return 'boolean'
  if (input.type === 'number' || input.type === 'integer') return 'number'
  return input.type === 'list' || input.type === 'object' ? 'json' : 'text'
}

function noteOf(input: InputDeclaration): string {
  const parts = [input.type && input.type !== 'text' ? input.type : null, input.required ? null : 'optional', input.secret ? 'secret' : null]
  return parts.filter(Boolean).join(', ')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
