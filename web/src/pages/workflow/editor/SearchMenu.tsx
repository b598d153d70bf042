import { Search } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { fuzzyScore } from '../../../ui/fuzzy.ts'
import { Icon } from '../../../ui/icons.tsx'

export interface MenuChoice {
  id: string
  group: string
  label: string
  note?: string
  icon?: ReactNode
  /** The digit that chooses it. */
  digit?: string
  choose: () => void
}

/** A searchable menu at a place in the window: "Add or connect to…". Works with the keyboard alone. */
export function SearchMenu({ label, at, choices, onClose, header }: { label: string; at: { x: number; y: number }; choices: MenuChoice[]; onClose: () => void; header?: ReactNode }) {
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const box = useRef<HTMLDivElement>(null)
  const opener = useRef<Element | null>(document.activeElement)
  const shown = useMemo(() => filter(choices, text), [choices, text])
  useEffect(() => {
    box.current?.querySelector('input')?.focus()
    const outside = (event: PointerEvent) => !box.current?.contains(event.target as Node) && onClose()
    window.addEventListener('pointerdown', outside, true)
    return () => window.removeEventListener('pointerdown', outside, true)
  }, [])
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const { width, height } = element.getBoundingClientRect()
    element.style.left = `${Math.max(8, Math.min(at.x, window.innerWidth - width - 8))}px`
    element.style.top = `${Math.max(8, Math.min(at.y, window.innerHeight - height - 8))}px`
  }, [at.x, at.y])
  useLayoutEffect(() => {
    box.current?.querySelector('.mi.on')?.scrollIntoView({ block: 'nearest' })
  }, [active])
  const close = () => {
    onClose()
    if (opener.current instanceof HTMLElement) opener.current.focus()
  }
  const choose = (choice: MenuChoice | undefined) => {
    if (!choice) return
    onClose()
    choice.choose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    event.stopPropagation()
    if (event.key === 'Escape') close()
    else if (event.key === 'Enter') choose(shown[active])
    else if (step !== undefined) setActive((shown.length + active + step) % Math.max(1, shown.length))
    else if (text === '' && /^[1-9]$/.test(event.key) && choices.some((choice) => choice.digit === event.key)) choose(choices.find((choice) => choice.digit === event.key))
    else if (event.key === 'Tab') close()
    else return
    event.preventDefault()
  }
  return (
    <div ref={box} className="menu search-menu" role="dialog" aria-label={label} onKeyDown={onKeyDown}>
      <label className="input quiet search-menu-input">
        <Icon of={Search} size={13} />
        <input
          value={text} placeholder={label} aria-label={label} role="combobox" aria-expanded aria-controls="search-menu-list"
          aria-activedescendant={shown[active] ? `search-menu-${active}` : undefined}
          onChange={(event) => {
            setText(event.target.value)
            setActive(0)
          }}
        />
      </label>
      {header}
      <div id="search-menu-list" role="listbox" aria-label={label} className="search-menu-list">
        {shown.map((choice, index) => (
          <div key={choice.id} className={choice.group !== shown[index - 1]?.group && index > 0 ? 'search-menu-group' : ''}>
            {choice.group !== shown[index - 1]?.group && <p className="label">{choice.group}</p>}
            <div id={`search-menu-${index}`} role="option" aria-selected={index === active} className={`mi${index === active ? ' on' : ''}`} onMouseMove={() => setActive(index)} onClick={() => choose(choice)}>
              {choice.icon}<span className="clip">{choice.label}</span>
              {choice.note && <span className="muted small clip">{choice.note}</span>}
              <span className="grow" />
              {choice.digit && text === '' && <kbd>{choice.digit}</kbd>}
            </div>
          </div>
        ))}
        {shown.length === 0 && <p className="muted small search-menu-none">Nothing matches “{text}”.</p>}
      </div>
    </div>
  )
}

/** The choices that match, best first; groups stay together, in the order of their best match. */
export function filter(choices: MenuChoice[], text: string): MenuChoice[] {
  if (text.trim() === '') return choices
  const groups = new Map<string, { choice: MenuChoice; score: number }[]>()
  for (const choice of choices) {
    const score = Math.max(fuzzyScore(text, choice.label) ?? -Infinity, (fuzzyScore(text, choice.note ?? '') ?? -Infinity) - 1)
    if (score === -Infinity) continue
    const group = groups.get(choice.group) ?? []
    groups.set(choice.group, [...group, { choice, score }])
  }
  const sorted = [...groups.values()].map((group) => group.sort((left, right) => right.score - left.score))
  return sorted.sort((left, right) => (right[0]?.score ?? 0) - (left[0]?.score ?? 0)).flat().map((entry) => entry.choice)
}
