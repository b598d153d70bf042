import { Menu as Base } from '@base-ui/react/menu'
import { Icon } from './icons.tsx'
import type { MenuProperties } from './Menu.tsx'

/** The menu itself, which is loaded after the page is shown. */
export default function LoadedMenu({ trigger, entries, align = 'end', isOpenAtFirst }: MenuProperties & { isOpenAtFirst: boolean }) {
  return (
    <Base.Root modal={false} defaultOpen={isOpenAtFirst}>
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
