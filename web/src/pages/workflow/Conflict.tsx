import { CircleAlert } from 'lucide-react'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { When } from '../../ui/Values.tsx'

export interface SaveConflict {
  version: number
  savedBy: string | null
  savedAt: string | null
  baseVersion: number
}

/** A save was rejected, because somebody saved a newer version. Nothing is lost. */
export function Conflict({ conflict, isSaving, onCompare, onSaveMine }: { conflict: SaveConflict; isSaving: boolean; onCompare: () => void; onSaveMine: () => void }) {
  return (
    <section className="conflict save-conflict" role="alert">
      <div className="row conflict-text">
        <Icon of={CircleAlert} size={17} />
        <div className="grow">
          <b>Version {conflict.version} was saved {conflict.savedBy ? `by ${conflict.savedBy} ` : ''}<When at={conflict.savedAt} /></b>
          <p className="soft">Your draft is based on version {conflict.baseVersion}. It’s still saved in this browser.</p>
        </div>
      </div>
      <div className="row conflict-actions">
        <Button small look="primary" onClick={onCompare}>Compare with version {conflict.version}</Button>
        <Button small action disabled={isSaving} onClick={onSaveMine}>Save mine as version {conflict.version + 1}</Button>
      </div>
    </section>
  )
}
