import { Menu as Base } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { Icon, type IconComponent } from './icons.tsx'

export interface MenuEntry {
  label: ReactNode
  icon?: IconComponent
  shortcut?: string
  checked?: boolean
  disabled?: boolean
  danger?: boolean
  onSelect?: () => void
  href?: string
}

/** A button with a menu. `null` entries are separators. */
export function Menu({ trigger, entries, align = 'end' }: { trigger: ReactElement; entries: (MenuEntry | null)[]; align?: 'start' | 'end' }) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className="layer" sideOffset={6} align={align}>
          <Base.Popup className="menu menu-popup">
            {entries.map((entry, index) =>
              entry === null ? (
                <Base.Separator key={index} className="menu-line" />
              ) : (
                <Base.Item
                  key={index}
                  className={`mi${entry.danger ? ' sev-error' : ''}`}
                  disabled={entry.disabled}
                  onClick={entry.onSelect}
                  render={entry.href ? <a href={entry.href} download /> : undefined}
                >
                  {entry.icon && <Icon of={entry.icon} size={15} />}
                  <span className="grow">{entry.label}</span>
                  {entry.checked && <span aria-label="selected">✓</span>}
                  {entry.shortcut && <kbd>{entry.shortcut}</kbd>}
                </Base.Item>
              ),
            )}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
