import { Search } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Icon } from './icons.tsx'

/** A filter field: reports what was typed after a short pause. `/` focuses it. */
export function SearchInput({ label, value, onChange, width }: { label: string; value: string; onChange: (value: string) => void; width: number }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onChange(text), 150)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <label className="input quiet" style={{ width }}>
      <Icon of={Search} size={14} />
      <input
        data-filter type="search" value={text} placeholder={label} aria-label={label} onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && (text === '' ? event.currentTarget.blur() : setText(''))}
      />
      {text === '' && <kbd>/</kbd>}
    </label>
  )
}
