import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactElement } from 'react'
import { useCan } from '../../app/useCan.ts'
import { workflowsQuery } from '../../api/queries.ts'
import { Menu } from '../../ui/Menu.tsx'

/** Start run: choose a workflow, then fill in its inputs. */
export function StartRunMenu({ children }: { children: ReactElement }) {
  const navigate = useNavigate()
  const workflows = (useQuery(workflowsQuery()).data?.items ?? []).filter((workflow) => workflow.dialect !== 'session')
  const canStart = useCan('operate')
  if (workflows.length === 0 || !canStart) return null
  return (
    <Menu
      trigger={children}
      entries={workflows.map((workflow) => ({
        label: workflow.name,
        onSelect: () => void navigate({ to: '.', search: (old) => ({ ...old, run: workflow.name }) as never }),
      }))}
    />
  )
}
