import { Dialog as Base } from '@base-ui/react/dialog'
import { type ReactNode, useEffect, useRef } from 'react'

/** A modal dialog. Focus returns to what opened it; `Ctrl Enter` confirms. */
export function Dialog({ open, onClose, title, note, children, width = 480, onConfirm }: {
  open: boolean
  onClose: () => void
  title: string
  note?: ReactNode
  children: ReactNode
  width?: number
  onConfirm?: () => void
}) {
  const content = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!open || !onConfirm) return
    const confirm = (event: KeyboardEvent) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        onConfirm()
      }
    }
    window.addEventListener('keydown', confirm)
    return () => window.removeEventListener('keydown', confirm)
  }, [open, onConfirm])
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="scrim" />
        <Base.Popup className="dialog dialog-popup" style={{ width }} initialFocus={() => firstField(content.current)}>
          <div className="row dialog-head">
            <Base.Title className="t15">{title}</Base.Title>
            {note && <span className="muted small">{note}</span>}
            <span className="grow" />
            <Base.Close className="kbd-button" aria-label="Close, Esc"><kbd>Esc</kbd></Base.Close>
          </div>
          <div ref={content}>{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

/** The first field of a form has the focus, else the first button: not the button that closes the dialog. */
function firstField(content: HTMLElement | null): HTMLElement | true {
  const field = content?.querySelector<HTMLElement>('input:not([hidden]):not([type="checkbox"]), textarea, select')
  return field ?? content?.querySelector<HTMLElement>('button, a') ?? true
}
