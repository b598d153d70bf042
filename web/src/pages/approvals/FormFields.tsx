import { Select } from '../../ui/Select.tsx'
import { type FormField, shownValue } from './formValues.ts'

/** The fields that a vote carries, generated from the JSON Schema of the approval. */
export function FormFields({ fields, typed, errors, onChange }: {
  fields: FormField[]
  typed: Record<string, unknown>
  errors: Record<string, string>
  onChange: (name: string, value: string) => void
}) {
  return (
    <fieldset className="vote-form">
      <legend className="sr">Form</legend>
      {fields.map((field) => <Field key={field.name} field={field} text={shownValue(field, typed)} error={errors[field.name]} onChange={(value) => onChange(field.name, value)} />)}
    </fieldset>
  )
}

function Field({ field, text, error, onChange }: { field: FormField; text: string; error: string | undefined; onChange: (value: string) => void }) {
  const label = field.schema.title ?? field.name
  const proposed = field.proposed === undefined || field.proposed === null ? null : field.type === 'text' ? String(field.proposed) : JSON.stringify(field.proposed)
  const shown = field.type === 'text' ? text : text.trim()
  const note = [field.schema.description, proposed !== null && shown !== proposed ? `Proposed: ${proposed}` : null].filter(Boolean).join(' ')
  const id = `form-${field.name}`
  const described = [note && `${id}-note`, error && `${id}-error`].filter(Boolean).join(' ') || undefined
  return (
    <div className="fld">
      {field.type === 'boolean' ? (
        <label className="check-line">
          <input type="checkbox" checked={text === 'true'} onChange={(event) => onChange(String(event.target.checked))} aria-describedby={described} />
          <span>{label}</span>
        </label>
      ) : (
        <>
          <label htmlFor={id}>{label} {field.type !== 'text' && field.type !== 'choice' && <span className="muted">{field.type === 'integer' ? 'whole number' : field.type}</span>}{!field.required && <span className="muted"> optional</span>}</label>
          <Control id={id} field={field} text={text} error={error} described={described} onChange={onChange} />
        </>
      )}
      {note && <p id={`${id}-note`} className="muted small">{note}</p>}
      {error && <p id={`${id}-error`} className="sev-error small" role="alert">{error}</p>}
    </div>
  )
}

function Control({ id, field, text, error, described, onChange }: {
  id: string
  field: FormField
  text: string
  error: string | undefined
  described: string | undefined
  onChange: (value: string) => void
}) {
  const common = { id, 'aria-invalid': error !== undefined || undefined, 'aria-describedby': described, 'aria-required': field.required || undefined }
  if (field.type === 'choice') {
    const options = (field.schema.enum ?? []).map((value) => ({ value: JSON.stringify(value), label: String(value) }))
    return <Select label={field.name} hideLabel value={text} options={text === '' ? [{ value: '', label: 'Select a value' }, ...options] : options} onChange={onChange} style={{ width: '100%' }} />
  }
  const maxLength = field.schema.maxLength
  const isLong = field.type === 'json' || (field.type === 'text' && (text.includes('\n') || text.length > 90 || (typeof maxLength === 'number' && maxLength > 200)))
  if (isLong) {
    return <textarea {...common} className={`textarea${field.type === 'json' ? ' code-input' : ''}${error ? ' bad' : ''}`} rows={4} value={text} onChange={(event) => onChange(event.target.value)} />
  }
  return (
    <span className={`input${error ? ' bad' : ''}`}>
      <input
        {...common} value={text} onChange={(event) => onChange(event.target.value)}
        inputMode={field.type === 'integer' ? 'numeric' : field.type === 'number' ? 'decimal' : undefined}
        type={field.schema.format === 'date' ? 'date' : 'text'}
      />
    </span>
  )
}
