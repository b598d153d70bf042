import { cloneElement, lazy, type MouseEventHandler, type ReactElement, type ReactNode, Suspense, useState } from 'react'
import type { IconComponent } from './icons.tsx'

const LoadedMenu = lazy(() => import('./LoadedMenu.tsx'))

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

export interface MenuProperties {
  trigger: ReactElement
  entries: (MenuEntry | null)[]
  align?: 'start' | 'end'
}

/** A button with a menu. `null` entries are separators. A click before the menu is loaded opens it once it is. */
export function Menu(properties: MenuProperties) {
  const [isWanted, setIsWanted] = useState(false)
  const trigger = properties.trigger as ReactElement<{ onClick?: MouseEventHandler }>
  return (
    <Suspense fallback={cloneElement(trigger, { onClick: () => setIsWanted(true) })}>
      <LoadedMenu {...properties} isOpenAtFirst={isWanted} />
    </Suspense>
  )
}
