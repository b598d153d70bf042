import { Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useTopics } from '../live/connect.ts'
import { Announcer } from '../ui/announce.tsx'
import { Toasts } from '../ui/toasts.tsx'
import { useShortcuts } from '../ui/shortcuts.ts'
import { FileDrop } from './FileDrop.tsx'
import { NetBar } from './NetBar.tsx'
import { NAVIGATION, TabBar, TopBar } from './TopBar.tsx'

const Palette = lazy(() => import('./Palette.tsx'))
const ShortcutList = lazy(() => import('./ShortcutList.tsx'))
const StartRun = lazy(() => import('../pages/start/StartRunDialog.tsx'))

/** The frame around every page. Signed links and sign-in have no navigation. */
export function App() {
  const location = useLocation()
  const navigate = useNavigate()
  const [layer, setLayer] = useState<'palette' | 'shortcuts' | null>(null)
  const bare = location.pathname.startsWith('/a/') || location.pathname === '/signin'
  const starting = (location.search as { run?: string }).run
  useTopics(bare ? [] : ['overview', 'approvals'])
  useShortcuts([
    { keys: 'Ctrl+k', label: 'Search, or type a command', always: true, run: () => setLayer('palette') },
    { keys: '?', label: 'All shortcuts on this page', run: () => setLayer('shortcuts') },
    { keys: 'r', label: 'Start a run', run: () => setLayer('palette') },
    ...NAVIGATION.map((entry) => ({ keys: `g ${entry.key}`, label: `Go to ${entry.label}`, run: () => void navigate({ to: entry.to }) })),
    { keys: '/', label: 'Search or filter', run: () => (document.querySelector<HTMLElement>('[data-filter]') ?? document.querySelector<HTMLElement>('.search'))?.focus() },
  ], !bare)
  return (
    <div className="app">
      <a className="skip" href="#main">Skip to content</a>
      {!bare && <TopBar onSearch={() => setLayer('palette')} />}
      <NetBar />
      <Outlet />
      {!bare && <TabBar />}
      <Toasts />
      <Announcer />
      <FileDrop />
      <Suspense>
        {layer === 'palette' && <Palette onClose={() => setLayer(null)} />}
        {layer === 'shortcuts' && <ShortcutList onClose={() => setLayer(null)} />}
        {starting && !bare && <StartRun workflow={starting} />}
      </Suspense>
    </div>
  )
}
