import { useNavigate } from '@tanstack/react-router'
import { Play } from 'lucide-react'
import type { WorkflowDetail } from '../../api/types.ts'
import { useCan } from '../../app/useCan.ts'
import { Button } from '../../ui/Button.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'

/** Opens the dialog that starts a run of the saved version; sessions are opened instead. */
export function RunButton({ detail, label = 'Run', onBefore }: { detail: WorkflowDetail; label?: string; onBefore?: () => Promise<boolean> }) {
  const navigate = useNavigate()
  const isSession = detail.dialect === 'session'
  const may = useCan('operate') || isSession
  const start = async () => {
    if (onBefore && !(await onBefore())) return
    if (isSession) await navigate({ to: '/sessions/$document/$id', params: { document: detail.name, id: 'main' } })
    else await navigate({ to: '.', search: (old) => ({ ...old, run: detail.name }) as never })
  }
  useShortcuts([{ keys: 'r', label: isSession ? 'Open a session' : `Run ${detail.name}`, run: () => void start() }], may)
  if (!may) return null
  return <Button look="primary" icon={Play} action onClick={() => void start()}>{isSession ? 'Open a session' : label}</Button>
}
