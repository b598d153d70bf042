import { Button } from '../../../ui/Button.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { joinNames, plural } from '../../../ui/format.ts'
import type { PendingRemoval } from './useOperations.ts'

/** Lists who refers to a step before it is deleted. */
export function RemovalDialog({ pending, onClose }: { pending: PendingRemoval; onClose: () => void }) {
  const what = pending.steps.length === 1 ? pending.steps[0] : plural(pending.steps.length, 'step')
  return (
    <Dialog open onClose={onClose} title={`Delete ${what}`} onConfirm={pending.confirm}>
      <p className="soft">{joinNames([...new Set(pending.readers.map((reader) => reader.step ?? 'the document'))])} {new Set(pending.readers.map((reader) => reader.step)).size === 1 ? 'refers' : 'refer'} to what is deleted:</p>
      <ul className="removal-list">
        {pending.readers.map((reader, index) => (
          <li key={index} className="row"><b>{reader.step}</b><code className="clip">{reader.field}</code><span className="muted small">reads {reader.names}</span><span className="grow" />{reader.line > 0 && <span className="muted small num">line {reader.line}</span>}</li>
        ))}
      </ul>
      <p className="muted small">These references will be problems until you change them. The deletion can be undone.</p>
      <div className="row removal-actions"><span className="grow" /><Button onClick={onClose}>Keep {what}</Button><Button look="danger" onClick={pending.confirm}>Delete {what}</Button></div>
    </Dialog>
  )
}
