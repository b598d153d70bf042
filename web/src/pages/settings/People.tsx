import { useQuery } from '@tanstack/react-query'
import { initial } from '../../app/UserMenu.tsx'
import { Part, Patterns } from './Part.tsx'
import { peopleQuery, type People } from './queries.ts'

/** The possible approvers of workflows that name none, and the groups. They are defined in `branchpoint.toml`. */
export function PeopleSection() {
  const query = useQuery(peopleQuery)
  return (
    <>
      <Part title="People" what="the people" query={query} note={<>Approvers of workflows that name none. Change them under <code>[people]</code> in <code>branchpoint.toml</code>.</>}>
        {(people) => <PeopleTable people={people} />}
      </Part>
      {query.data && (
        <Part title="Groups" what="the groups" query={query} note={<>Workflows ask for votes of a group with <code>need</code>. Change groups under <code>[groups]</code> in <code>branchpoint.toml</code>.</>}>
          {(people) => people.groups?.length > 0 ? (
            <table>
              <thead><tr><th>Group</th><th>Members</th></tr></thead>
              <tbody>{people.groups.map((group) => <tr key={group.name}><td className="b">{group.name}</td><td className="wrap">{group.members.join(', ')}</td></tr>)}</tbody>
            </table>
          ) : <p className="settings-none">No groups are defined.</p>}
        </Part>
      )}
    </>
  )
}

function PeopleTable({ people }: { people: People }) {
  const rows = [...(people.owner ? [[people.owner, 'Owner'] as const] : []), ...people.admins.map((user) => [user, 'Admin'] as const), ...people.members.map((user) => [user, 'Member'] as const)]
  if (rows.length === 0) return <p className="settings-none">No people are configured. Without an owner, the owner is the person who started the server.</p>
  return (
    <table>
      <thead><tr><th>User</th><th>Part</th>{people.credentials && <><th>Role</th><th>Workflows</th></>}</tr></thead>
      <tbody>
        {rows.map(([user, part]) => {
          const credential = people.credentials?.find((entry) => entry.user === user)
          return (
            <tr key={`${part}:${user}`}>
              <td><span className="status"><span className="avatar small" aria-hidden>{initial(user)}</span><b className="b clip">{user}</b></span></td>
              <td className="soft">{part}</td>
              {people.credentials && <><td className="soft">{credential?.role ?? <span className="muted">no token</span>}</td><td>{credential && <Patterns of={credential.workflows} />}</td></>}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
