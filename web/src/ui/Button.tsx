import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react'
import { Icon, type IconComponent } from './icons.tsx'
import { useOnline } from './online.ts'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: 'plain' | 'primary' | 'quiet' | 'danger' | 'armed'
  small?: boolean
  big?: boolean
  icon?: IconComponent
  shortcut?: string
  /** Needs the server: disabled while the connection is lost, with that reason. */
  action?: boolean
  ref?: Ref<HTMLButtonElement>
  children?: ReactNode
}

export function Button({ look = 'plain', small, big, icon, shortcut, action, children, className = '', disabled, title, ...rest }: ButtonProps) {
  const online = useOnline()
  const offline = action === true && !online
  const looks = { plain: '', primary: ' btn-primary', quiet: ' btn-quiet', danger: ' btn-quiet btn-danger', armed: ' btn-armed' }
  return (
    <button
      type="button"
      className={`btn${looks[look]}${small ? ' btn-small' : ''}${big ? ' btn-big' : ''} ${className}`}
      disabled={disabled || offline}
      title={offline ? 'Connection lost: actions are available again once it is back' : title}
      {...rest}
    >
      {icon && <Icon of={icon} size={small ? 14 : 15} />}
      {children}
      {shortcut && <kbd>{shortcut}</kbd>}
    </button>
  )
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  label: string
  icon: IconComponent
  size?: number
  extraSmall?: boolean
  ref?: Ref<HTMLButtonElement>
}

export function IconButton({ label, icon, size = 16, extraSmall, className = '', ...rest }: IconButtonProps) {
  return (
    <button type="button" className={`icon-btn${extraSmall ? ' xs' : ''} ${className}`} aria-label={label} title={label} {...rest}>
      <Icon of={icon} size={size} />
    </button>
  )
}

/** Two or more exclusive choices side by side. */
export function Segments<T extends string>({ label, value, options, onChange, wide }: {
  label: string
  value: T
  options: { value: T; label: ReactNode }[]
  onChange: (value: T) => void
  wide?: boolean
}) {
  return (
    <div className={`seg${wide ? ' wide' : ''}`} role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="button" aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.label}
        </button>
      ))}
    </div>
  )
}
