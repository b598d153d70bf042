import type { ReactNode } from 'react'
import type { WorkflowDetail } from '../../api/types.ts'
import { When } from '../../ui/Values.tsx'
import type { DraftState } from './draft/draft.ts'

/** "Edited 20 s ago · draft saved in this browser" */
export function draftNote(state: DraftState, mayEdit: boolean): ReactNode {
  if (!state.isEdited) return null
  if (!mayEdit) return 'Editing needs a wider window'
  const where = { yes: 'draft saved in this browser', no: 'saving the draft', failed: 'this browser cannot keep the draft: save a version before you leave' }[state.stored]
  return <>Edited {state.editedAt ? <When at={new Date(state.editedAt).toISOString()} /> : 'now'} · {where}</>
}

export function saveTitle(state: DraftState, errors: number): string | undefined {
  if (!state.isEdited) return 'The draft does not differ from the saved version'
  return errors > 0 ? 'Fix all errors to save this version' : undefined
}

export function runLabel(state: DraftState, errors: number, detail: WorkflowDetail, isConnected: boolean): string {
  if (!state.isEdited || isConnected) return 'Run'
  return errors > 0 ? `Run version ${detail.version}` : 'Save and run'
}
