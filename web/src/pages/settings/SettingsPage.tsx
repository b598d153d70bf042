import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { KeyRound, Lock, Plug, ScrollText, Stethoscope, Users, Webhook as WebhookIcon } from 'lucide-react'
import type { ComponentType } from 'react'
import { meQuery } from '../../api/queries.ts'
import { NotFound } from '../../app/NotFound.tsx'
import { Icon, type IconComponent } from '../../ui/icons.tsx'
import { Empty, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { Audit } from './Audit.tsx'
import { Doctor } from './Doctor.tsx'
import { PeopleSection } from './People.tsx'
import { Providers } from './Providers.tsx'
import { Secrets } from './Secrets.tsx'
import { Tokens } from './Tokens.tsx'
import { Webhooks } from './Webhooks.tsx'

interface Section {
  id: string
  label: string
  icon: IconComponent
  content: ComponentType
  /** Shown to everyone; all others to admins. */
  isOpen?: boolean
}

const SECTIONS: Section[] = [
  { id: 'people', label: 'People', icon: Users, content: PeopleSection, isOpen: true },
  { id: 'tokens', label: 'Tokens', icon: KeyRound, content: Tokens },
  { id: 'secrets', label: 'Secrets', icon: Lock, content: Secrets },
  { id: 'providers', label: 'Model providers', icon: Plug, content: Providers },
  { id: 'webhooks', label: 'Webhooks', icon: WebhookIcon, content: Webhooks },
  { id: 'audit', label: 'Audit log', icon: ScrollText, content: Audit },
  { id: 'doctor', label: 'Doctor', icon: Stethoscope, content: Doctor },
]

/** Settings of the server. What a role may not see is not listed. */
export function SettingsPage() {
  const { section: id } = useParams({ from: '/settings/$section' })
  const me = useQuery(meQuery).data
  const section = SECTIONS.find((entry) => entry.id === id)
  useTitle(section ? `${section.label} · Settings` : 'Settings')
  if (!section) return <NotFound what="This section of the settings" />
  const isAdmin = me?.can.administer === true
  const Content = section.content
  return (
    <main id="main" className="page-scroll">
      <div className="page settings">
        <div className="page-head"><h1>Settings</h1></div>
        <div className="settings-cols">
          <nav className="settings-nav" aria-label="Settings">
            {SECTIONS.filter((entry) => entry.isOpen || isAdmin).map((entry) => (
              <Link key={entry.id} to="/settings/$section" params={{ section: entry.id }} aria-current={entry.id === id ? 'page' : undefined} activeProps={{ className: '' }}>
                <Icon of={entry.icon} size={15} />{entry.label}
              </Link>
            ))}
          </nav>
          <div className="settings-body">
            {!me ? <section className="card"><SkeletonRows rows={4} height={40} /></section>
              : section.isOpen || isAdmin ? <Content />
              : <section className="card"><Empty icon={Lock} title={`Only admins can see ${section.label.toLowerCase()}`}>You are signed in as <b>{me.user}</b> with the role {me.roles.join(', ')}.</Empty></section>}
          </div>
        </div>
      </div>
    </main>
  )
}
