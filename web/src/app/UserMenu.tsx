import { useNavigate } from '@tanstack/react-router'
import { Bell, Keyboard, LogOut, Settings } from 'lucide-react'
import { useState } from 'react'
import { post } from '../api/client.ts'
import type { Me } from '../api/types.ts'
import { Dialog } from '../ui/Dialog.tsx'
import { Menu } from '../ui/Menu.tsx'
import { setSingleLetters, singleLettersEnabled } from '../ui/shortcuts.ts'
import { useToastLog } from '../ui/toasts.tsx'
import { When } from '../ui/Values.tsx'

export function UserMenu({ me }: { me: Me }) {
  const navigate = useNavigate()
  const [letters, setLetters] = useState(singleLettersEnabled())
  const [showLog, setShowLog] = useState(false)
  const signOut = async () => {
    await post('/sign-out')
    location.assign('/signin')
  }
  return (
    <>
      <Menu
        trigger={<button type="button" className="avatar" aria-label={`Signed in as ${me.user}`} title={`Signed in as ${me.user}`}>{initial(me.user)}</button>}
        entries={[
          { label: <><b>{me.user}</b> <span className="muted small">{me.roles.join(', ')}</span></>, disabled: true },
          null,
          { label: 'Recent notifications', icon: Bell, onSelect: () => setShowLog(true) },
          {
            label: 'Single-letter shortcuts', icon: Keyboard, checked: letters,
            onSelect: () => {
              setSingleLetters(!letters)
              setLetters(!letters)
            },
          },
          { label: 'Settings', icon: Settings, onSelect: () => void navigate({ to: '/settings/$section', params: { section: 'people' } }) },
          ...(me.local ? [] : [null, { label: 'Sign out', icon: LogOut, onSelect: () => void signOut() }]),
        ]}
      />
      {showLog && <NotificationLog onClose={() => setShowLog(false)} />}
    </>
  )
}

export function initial(user: string): string {
  return (user[0] ?? '?').toUpperCase()
}

function NotificationLog({ onClose }: { onClose: () => void }) {
  const log = useToastLog()
  return (
    <Dialog open onClose={onClose} title="Recent notifications">
      {log.length === 0 && <p className="soft">Nothing has been reported since this page was opened.</p>}
      {log.map((toast) => (
        <div key={toast.id} className="toast">
          {toast.icon}
          <span className="grow">{toast.text}</span>
          <span className="muted small"><When at={new Date(toast.at).toISOString()} /></span>
        </div>
      ))}
    </Dialog>
  )
}
