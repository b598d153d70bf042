import { ChevronDown } from 'lucide-react'
import type { CSSProperties } from 'react'
import { Icon } from './icons.tsx'

/** A native select in the design's look: keyboard, screen readers and phones work as people expect. */
export function Select<T extends string>({ label, value, options, onChange, hideLabel, style }: {
  label: string
  value: T
  options: { value: T; label: string }[]
  onChange: (value: T) => void
  hideLabel?: boolean
  style?: CSSProperties
}) {
  const shown = options.find((option) => option.value === value)?.label ?? value
  return (
    <label className="select" style={style}>
      <span className={hideLabel ? 'sr' : ''}>{label}</span>
      <b aria-hidden className="clip">{shown}</b>
      <Icon of={ChevronDown} size={14} />
      <select value={value} onChange={(event) => onChange(event.target.value as T)}>
        {options.map((option) => <option key={option.value} value={option.value}>{option.label}</option>)}
      </select>
    </label>
  )
}
