import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { post, Problem, segment } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import type { SessionDetail } from '../../api/types.ts'
import { announce } from '../../ui/announce.tsx'
import { Button, Segments } from '../../ui/Button.tsx'
import { newKey } from '../../ui/newKey.ts'
import { showToast } from '../../ui/toasts.tsx'

/** Lets operators try events: what a host would report. */
export function Report({ session }: { session: SessionDetail }) {
  const client = useQueryClient()
  const [kind, setKind] = useState<'message' | 'tool'>('message')
  const [text, setText] = useState('')
  const may = useQuery(meQuery).data?.can.operate === true
  const report = useMutation({
    mutationFn: () => {
      const path = `/agents/${segment(session.document)}/sessions/${segment(session.id)}`
      return post<{ activeStep: string | null; changed: boolean }>(`${path}/${kind}s`, { [kind === 'tool' ? 'tool' : 'text']: text.trim() }, { 'idempotency-key': newKey() })
    },
    onSuccess: (view) => {
      setText('')
      announce(view.changed ? `The step changed to ${view.activeStep}` : `The step is still ${view.activeStep ?? 'none'}`)
      void client.invalidateQueries({ queryKey: ['session', session.document, session.id] })
    },
    onError: (error) => showToast({ text: error instanceof Problem ? error.message : String(error) }),
  })
  if (!may) return null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() !== '' && !report.isPending) report.mutate()
  }
  const label = kind === 'message' ? 'User message' : 'Name of the tool'
  return (
    <form className="report" onSubmit={submit}>
      <Segments label="Kind of event" value={kind} onChange={setKind} options={[{ value: 'message', label: 'Message' }, { value: 'tool', label: 'Tool' }]} />
      <label className="input quiet grow">
        <input value={text} placeholder={label} aria-label={label} list={kind === 'tool' ? 'session-tools' : undefined} onChange={(event) => setText(event.target.value)} />
      </label>
      {kind === 'tool' && <datalist id="session-tools">{session.tools.map((tool) => <option key={tool.name} value={tool.name} />)}</datalist>}
      <Button look="primary" type="submit" action disabled={text.trim() === '' || report.isPending}>Report</Button>
    </form>
  )
}
