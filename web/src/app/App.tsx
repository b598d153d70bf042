import { Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useTopics } from '../live/connect.ts'
import { Announcer } from '../ui/announce.tsx'
import { Toasts } from '../ui/toasts.tsx'
import { useShortcuts } from '../ui/shortcuts.ts'
import { ApprovalWatch } from './ApprovalWatch.tsx'
import { FileDrop } from './FileDrop.tsx'
import { NetBar } from './NetBar.tsx'
import { TabBar } from './TabBar.tsx'
import { NAVIGATION, TopBar } from './TopBar.tsx'
import { collectTyped } from './typeAhead.ts'
import { useCan } from './useCan.ts'

const loadPalette = () => import('./Palette.tsx')
const Palette = lazy(loadPalette)
const ShortcutList = lazy(() => import('./ShortcutList.tsx'))
const StartRun = lazy(() => import('../pages/start/StartRunDialog.tsx'))

/** The frame around every page. Signed links and sign-in have no navigation, no event stream and no user. */
export function App() {
  const path = useLocation().pathname
  const isBare = path.startsWith('/a/') || path === '/signin'
  return (
    <div className="app">
      <a className="skip" href="#main">Skip to content</a>
      {isBare ? <Outlet /> : <SignedIn />}
      <Toasts />
      <Announcer />
    </div>
  )
}

function SignedIn() {
  const location = useLocation()
  const navigate = useNavigate()
  const [layer, setLayer] = useState<'palette' | 'shortcuts' | null>(null)
  const canStart = useCan('operate')
  const canEdit = useCan('edit')
  const starting = (location.search as { run?: string }).run
  useTopics(['overview', 'approvals'])
  const openPalette = () => {
    if (layer === 'palette') return
    collectTyped(loadPalette(), () => setLayer(null))
    setLayer('palette')
  }
  useEffect(() => {
    // Without a connection, it is loaded when it is opened.
    const timer = setTimeout(() => void loadPalette().catch(() => {}), 1000)
    return () => clearTimeout(timer)
  }, [])
  useShortcuts([
    { keys: 'Ctrl+k', label: 'Search, or type a command', always: true, run: openPalette },
    { keys: '/', label: 'Search or filter', run: () => focusFilter() || openPalette() },
    ...NAVIGATION.map((entry) => ({ keys: `g ${entry.key}`, label: `Go to ${entry.label}`, run: () => void navigate({ to: entry.to }) })),
    ...(canStart ? [{ keys: 'r', label: 'Start a run', run: openPalette }] : []),
    { keys: '?', label: 'All shortcuts on this page', run: () => setLayer('shortcuts') },
  ])
  return (
    <>
      <TopBar onSearch={openPalette} />
      <NetBar />
      <Outlet />
      <TabBar />
      <ApprovalWatch />
      {canEdit && <FileDrop />}
      <Suspense>
        {layer === 'palette' && <Palette onClose={() => setLayer(null)} />}
        {layer === 'shortcuts' && <ShortcutList onClose={() => setLayer(null)} />}
        {starting && canStart && <StartRun workflow={starting} />}
      </Suspense>
    </>
  )
}

/** Focuses the filter of the page, if it has one. */
function focusFilter(): boolean {
  const field = document.querySelector<HTMLElement>('[data-filter]')
  field?.focus()
  return field !== null
}
