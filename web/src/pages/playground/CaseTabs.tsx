import { Plus, X } from 'lucide-react'
import { type KeyboardEvent, useState } from 'react'
import { IconButton } from '../../ui/Button.tsx'
import type { Case } from './samples.ts'

/** The cases as tabs. A double click or F2 renames one. */
export function CaseTabs({ cases, at, onSelect, onChange }: { cases: Case[]; at: number; onSelect: (at: number) => void; onChange: (cases: Case[]) => void }) {
  const [renaming, setRenaming] = useState<number | null>(null)
  const add = () => {
    onChange([...cases, { name: freeName(cases), text: cases[at]?.text ?? '{}' }])
    onSelect(cases.length)
  }
  const remove = () => {
    onChange(cases.filter((_, index) => index !== at))
    onSelect(Math.max(0, at - 1))
  }
  const rename = (name: string) => {
    if (name.trim() !== '') onChange(cases.map((one, index) => (index === renaming ? { ...one, name: name.trim() } : one)))
    setRenaming(null)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (event.key === 'F2') setRenaming(at)
    if (step === undefined) return
    event.preventDefault()
    const next = (at + step + cases.length) % cases.length
    onSelect(next)
    event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"]')[next]?.focus()
  }
  return (
    <>
      <div className="cases" role="tablist" aria-label="Cases" onKeyDown={onKeyDown}>
        {cases.map((one, index) => index === renaming
          ? (
            <input
              key={index} className="case-name" autoFocus defaultValue={one.name} aria-label="Name of the case" onBlur={(event) => rename(event.target.value)}
              onKeyDown={(event) => {
                event.stopPropagation()
                if (event.key === 'Enter') event.currentTarget.blur()
                else if (event.key === 'Escape') setRenaming(null)
              }}
            />
          )
          : (
            <button key={index} type="button" role="tab" aria-selected={index === at} aria-controls="case-panel" tabIndex={index === at ? 0 : -1} onClick={() => onSelect(index)} onDoubleClick={() => setRenaming(index)}>
              {one.name}
            </button>
          ))}
      </div>
      <IconButton label="Add a case" icon={Plus} size={14} extraSmall onClick={add} />
      {cases.length > 1 && <IconButton label={`Remove ${cases[at]?.name ?? 'the case'}`} icon={X} size={14} extraSmall onClick={remove} />}
    </>
  )
}

function freeName(cases: Case[]): string {
  let number = cases.length + 1
  while (cases.some((one) => one.name === `case ${number}`)) number++
  return `case ${number}`
}
