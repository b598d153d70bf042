import { Copy, Download, RotateCcw } from 'lucide-react'
import type { WorkflowDetail } from '../../api/types.ts'
import { isJson } from '../../source/cursorContext.ts'
import { copyText, downloadText } from '../../ui/clipboard.ts'
import type { MenuEntry } from '../../ui/Menu.tsx'
import type { Draft, DraftState } from './draft/draft.ts'

/** The menu of the design page. */
export function designMenu({ detail, draft, state, mayEdit }: { detail: WorkflowDetail; draft: Draft; state: DraftState; mayEdit: boolean }): (MenuEntry | null)[] {
  const file = `${detail.name}.${isJson(state.text) ? 'json' : 'yaml'}`
  return [
    { label: 'Download the source', icon: Download, onSelect: () => downloadText(file, state.text) },
    { label: 'Copy the command that runs it', icon: Copy, onSelect: () => void copyText(`branchpoint run ${file}`, 'the command') },
    ...(mayEdit && state.isEdited
      ? [null, {
          label: 'Discard the draft', icon: RotateCcw, danger: true,
          // The history keeps the draft, so this can be undone.
          onSelect: () => void draft.rebase({ version: detail.version, hash: detail.hash, text: detail.text }),
        }]
      : []),
  ]
}
