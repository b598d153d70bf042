import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { Moon, Search, Sun } from 'lucide-react'
import { meQuery, overviewQuery } from '../api/queries.ts'
import { IconButton } from '../ui/Button.tsx'
import { Icon, Logo } from '../ui/icons.tsx'
import { Menu } from '../ui/Menu.tsx'
import { useConnection } from '../ui/online.ts'
import { useIsPhone } from '../ui/viewport.ts'
import { useTheme } from './theme.ts'
import { UserMenu } from './UserMenu.tsx'

export const NAVIGATION = [
  { to: '/', label: 'Overview', key: 'o' },
  { to: '/workflows', label: 'Workflows', key: 'w' },
  { to: '/runs', label: 'Runs', key: 'r' },
  { to: '/approvals', label: 'Approvals', key: 'a' },
  { to: '/sessions', label: 'Sessions', key: 's' },
  { to: '/playground', label: 'Playground', key: 'p' },
] as const

export function isCurrent(to: string, path: string): boolean {
  if (to === '/') return path === '/'
  if (to === '/sessions' && path.startsWith('/chat/')) return true
  return path === to || path.startsWith(`${to}/`)
}

/** How many approvals wait for me. */
export function useMine(): number {
  return useQuery(overviewQuery).data?.approvals?.mine ?? 0
}

export function TopBar({ onSearch }: { onSearch: () => void }) {
  const path = useLocation().pathname
  const mine = useMine()
  if (useIsPhone()) return <PhoneTopBar path={path} onSearch={onSearch} />
  return (
    <header className="topbar">
      <Link className="brand" to="/"><Logo /><span>Branchpoint</span></Link>
      <nav aria-label="Main">
        {NAVIGATION.map((entry) => (
          <Link key={entry.to} to={entry.to} aria-current={isCurrent(entry.to, path) ? 'page' : undefined} activeProps={{ className: '' }}>
            {entry.label}
            {entry.to === '/approvals' && mine > 0 && <span className="count" aria-label={`${mine} waiting for you`}>{mine}</span>}
          </Link>
        ))}
      </nav>
      <span className="grow" />
      <button type="button" className="search" onClick={onSearch}>
        <Icon of={Search} size={14} /><span>Search or type a command</span><kbd>{SEARCH_KEYS}</kbd>
      </button>
      <ConnectionDot />
      <ThemeButton />
      <UserMenuOfMe />
    </header>
  )
}

/** The title of the section, the connection, and search. Pages inside a section bring a bar of their own. */
function PhoneTopBar({ path, onSearch }: { path: string; onSearch: () => void }) {
  const section = NAVIGATION.find((entry) => isCurrent(entry.to, path))?.label ?? (path.startsWith('/settings') ? 'Settings' : 'Branchpoint')
  return (
    <header className="topbar">
      <b className="grow topbar-title" aria-hidden>{section}</b>
      <ConnectionDot />
      <IconButton label="Search or type a command" icon={Search} size={20} onClick={onSearch} />
    </header>
  )
}

const SEARCH_KEYS = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K'

function UserMenuOfMe() {
  const me = useQuery(meQuery).data
  return me ? <UserMenu me={me} /> : <span className="avatar" aria-hidden />
}

export function ConnectionDot() {
  const { state } = useConnection()
  const words = { live: 'Live', connecting: 'Connecting', lost: 'Offline' }[state]
  const title = { live: 'Updates arrive in real time', connecting: 'Connecting to the event stream', lost: 'Updates are delayed until the connection is back' }[state]
  return <span className={`live live-${state}`} title={title}><i />{words}</span>
}

function ThemeButton() {
  const [theme, choose] = useTheme()
  return (
    <Menu
      trigger={<IconButton label="Theme" icon={theme === 'dark' ? Moon : Sun} />}
      entries={(['light', 'dark', 'system'] as const).map((value) => ({
        label: { light: 'Light', dark: 'Dark', system: 'Like the system' }[value],
        checked: theme === value,
        onSelect: () => choose(value),
      }))}
    />
  )
}
