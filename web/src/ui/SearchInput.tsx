import { Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Icon } from './icons.tsx'

/** A filter field: reports what was typed after a short pause. `/` focuses it. */
export function SearchInput({ label, value, onChange, width }: { label: string; value: string; onChange: (value: string) => void; width: number }) {
  const [text, setText] = useState(value)
  const reported = useRef<string[]>([])
  useEffect(() => {
    // A value that was reported from here comes back late, and must not replace what was typed since.
    const index = reported.current.indexOf(value)
    if (index < 0) setText(value)
    reported.current.splice(0, index + 1)
  }, [value])
  useEffect(() => {
    if (text === (reported.current.at(-1) ?? value)) return
    const timer = setTimeout(() => {
      reported.current.push(text)
      onChange(text)
    }, 150)
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
