import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ban, Copy, Download, Ellipsis, FileCode, GitFork, Link2, Play, RotateCcw, StepForward, UserRoundCheck } from 'lucide-react'
import { useState } from 'react'
import { BASE_PATH } from '../../api/base.ts'
import { post, segment } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import type { RunDetail } from '../../api/types.ts'
import { Button, IconButton } from '../../ui/Button.tsx'
import { copyText } from '../../ui/clipboard.ts'
import { Menu, type MenuEntry } from '../../ui/Menu.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { showProblem } from '../../ui/problems.ts'
import { CancelDialog } from './CancelDialog.tsx'
import { ForkDialog } from './ForkDialog.tsx'
import { isOver } from './runStatus.ts'

/** What can be done with a run. Actions that a role does not allow are not shown. */
export function RunActions({ run, compact }: { run: RunDetail; compact?: boolean }) {
  const navigate = useNavigate()
  const can = useQuery(meQuery).data?.can ?? {}
  const [dialog, setDialog] = useState<'cancel' | 'fork' | null>(null)
  const actions = useRunActions(run)
  const approval = run.status === 'waiting_people' ? run.waiting_for?.approval ?? null : null
  const mayAnswer = approval !== null && can.approve !== false
  const mayOperate = can.operate !== false
  useShortcuts([{ keys: 'a', label: 'Answer', run: actions.answer }], mayAnswer)
  const entries: (MenuEntry | null)[] = [
    ...(mayOperate ? [
      { label: 'Fork from a step', icon: GitFork, onSelect: () => setDialog('fork') },
      ...(run.status === 'completed' ? [] : [{ label: 'Run again', icon: Play, onSelect: actions.runAgain }]),
      ...(!isOver(run) && !run.driven ? [{ label: 'Resume', icon: StepForward, onSelect: actions.resume }] : []),
      ...(compact && !isOver(run) ? [{ label: 'Cancel run', icon: Ban, danger: true, onSelect: () => setDialog('cancel') }] : []),
      null,
    ] : []),
    { label: 'Save as script', icon: FileCode, href: `${BASE_PATH}/api/v1/runs/${segment(run.id)}/recording` },
    { label: 'Export', icon: Download, href: `${BASE_PATH}/api/v1/runs/${segment(run.id)}/export` },
    { label: 'Copy as command', icon: Copy, onSelect: () => void copyText(commandOf(run), 'the command') },
    { label: 'Copy link', icon: Link2, onSelect: () => void copyText(location.href, 'the link') },
  ]
  return (
    <>
      {!compact && mayOperate && !isOver(run) && <Button look="danger" action onClick={() => setDialog('cancel')}>Cancel run</Button>}
      {!compact && mayOperate && isOver(run) && <Button icon={GitFork} action onClick={() => setDialog('fork')}>Fork</Button>}
      {!compact && mayOperate && run.status === 'failed' && <Button look="primary" icon={RotateCcw} action onClick={actions.retry}>Retry {run.error?.step ?? ''}</Button>}
      {!compact && mayOperate && (run.status === 'completed' || run.status === 'cancelled') && <Button look="primary" icon={Play} action onClick={actions.runAgain}>Run again</Button>}
      {!compact && mayAnswer && <Button look="primary" icon={UserRoundCheck} shortcut="A" action onClick={actions.answer}>Answer</Button>}
      <Menu trigger={<IconButton label="More: fork, export, copy as command" icon={Ellipsis} />} entries={entries} />
      {dialog === 'cancel' && <CancelDialog run={run} onClose={() => setDialog(null)} />}
      {dialog === 'fork' && <ForkDialog run={run} step={null} onClose={() => setDialog(null)} onForked={(id) => void navigate({ to: '/runs/$id', params: { id }, search: {} })} />}
    </>
  )
}

export function useRunActions(run: RunDetail) {
  const navigate = useNavigate()
  const open = (id: string) => void navigate({ to: '/runs/$id', params: { id }, search: {} })
  const create = async (path: string, body: unknown) => {
    try {
      open((await post<RunDetail>(path, body)).id)
    } catch (error) {
      showProblem(error)
    }
  }
  return {
    answer: () => {
      const [, number] = splitKey(run.waiting_for?.approval ?? '')
      void navigate({ to: '/approvals/$run/$n', params: { run: run.id, n: number } })
    },
    retry: () => void create(`/runs/${segment(run.id)}/retry`, {}),
    resume: () => void post(`/runs/${segment(run.id)}/resume`, {}).catch(showProblem),
    runAgain: () => void navigate({ to: '/workflows/$name', params: { name: run.workflow }, search: { run: run.workflow, v: run.version == null ? undefined : String(run.version) } }),
  }
}

/** The run and the number in the key of an approval. Ids of runs contain no slash. */
export function splitKey(key: string): [string, string] {
  const at = key.lastIndexOf('/')
  return [key.slice(0, at), key.slice(at + 1)]
}

function commandOf(run: RunDetail): string {
  return `branchpoint runs trace ${/^[\w.-]+$/.test(run.id) ? run.id : `'${run.id.replaceAll("'", "'\\''")}'`}`
}
