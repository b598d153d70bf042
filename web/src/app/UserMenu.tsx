import { useNavigate } from '@tanstack/react-router'
import { Bell, Keyboard, LogOut, Settings } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { BASE_PATH } from '../api/base.ts'
import { post } from '../api/client.ts'
import type { Me } from '../api/types.ts'
import { Menu } from '../ui/Menu.tsx'
import { setSingleLetters, singleLettersEnabled } from '../ui/shortcuts.ts'

const NotificationLog = lazy(() => import('./NotificationLog.tsx'))

export function UserMenu({ me }: { me: Me }) {
  const navigate = useNavigate()
  const [letters, setLetters] = useState(singleLettersEnabled())
  const [showLog, setShowLog] = useState(false)
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
      <Suspense>{showLog && <NotificationLog onClose={() => setShowLog(false)} />}</Suspense>
    </>
  )
}

/** Ends the session of this browser. A whole page load: nothing of the user stays in memory. */
export async function signOut(): Promise<void> {
  await post('/sign-out')
  sessionStorage.clear()
  location.assign(`${BASE_PATH}/signin`)
}

export function initial(user: string): string {
  return (user[0] ?? '?').toUpperCase()
}
