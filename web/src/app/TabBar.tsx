import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { Ellipsis, FlaskConical, Inbox, LayoutDashboard, ListTree, LogOut, type LucideIcon, MessagesSquare, Moon, Settings, Sun, Workflow } from 'lucide-react'
import { meQuery } from '../api/queries.ts'
import { Icon } from '../ui/icons.tsx'
import { Menu } from '../ui/Menu.tsx'
import { isCurrent, useMine } from './TopBar.tsx'
import { useTheme } from './theme.ts'
import { signOut } from './UserMenu.tsx'

const TABS: { to: string; label: string; icon: LucideIcon }[] = [
  { to: '/approvals', label: 'Approvals', icon: Inbox },
  { to: '/runs', label: 'Runs', icon: ListTree },
  { to: '/workflows', label: 'Workflows', icon: Workflow },
]

const MORE: { to: string; label: string; icon: LucideIcon }[] = [
  { to: '/', label: 'Overview', icon: LayoutDashboard },
  { to: '/sessions', label: 'Sessions', icon: MessagesSquare },
  { to: '/playground', label: 'Playground', icon: FlaskConical },
  { to: '/settings/people', label: 'Settings', icon: Settings },
]

/** The navigation of narrow windows, at the bottom. */
export function TabBar() {
  const path = useLocation().pathname
  const navigate = useNavigate()
  const mine = useMine()
  const me = useQuery(meQuery).data
  const [theme, choose] = useTheme()
  const isMore = MORE.some((entry) => isCurrent(entry.to, path))
  return (
    <nav className="tabbar" aria-label="Main">
      {TABS.map((tab) => (
        <Link key={tab.to} to={tab.to} aria-current={isCurrent(tab.to, path) ? 'page' : undefined} activeProps={{ className: '' }}>
          <Icon of={tab.icon} size={20} /><span>{tab.label}</span>
          {tab.to === '/approvals' && mine > 0 && <i className="dot" role="img" aria-label={`${mine} waiting for you`}>{mine}</i>}
        </Link>
      ))}
      <Menu
        trigger={<button type="button" className="tab-more" aria-current={isMore ? 'page' : undefined}><Icon of={Ellipsis} size={20} /><span>More</span></button>}
        entries={[
          ...MORE.map((entry) => ({ label: entry.label, icon: entry.icon, onSelect: () => void navigate({ to: entry.to }) })),
          null,
          theme === 'dark' ? { label: 'Light theme', icon: Sun, onSelect: () => choose('light') } : { label: 'Dark theme', icon: Moon, onSelect: () => choose('dark') },
          ...(me && !me.local ? [{ label: `Sign out ${me.user}`, icon: LogOut, onSelect: () => void signOut() }] : []),
        ]}
      />
    </nav>
  )
}
