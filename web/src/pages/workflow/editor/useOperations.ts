import { useRef, useState } from 'react'
import { Problem } from '../../../api/client.ts'
import { announce } from '../../../ui/announce.tsx'
import { joinNames } from '../../../ui/format.ts'
import { showToast } from '../../../ui/toasts.tsx'
import type { DesignDrawing } from '../checks.ts'
import type { Draft } from '../draft/draft.ts'
import { type Affected, nameOf, type Operation, readersOf, requestEdit } from './operations.ts'

/** A deletion that others depend on, until the person confirms it. */
export interface PendingRemoval {
  steps: string[]
  readers: Affected[]
  confirm: () => void
}

export interface Operations {
  perform: (operation: Operation) => Promise<string | null>
  pending: PendingRemoval | null
  dismiss: () => void
}

/** Sends edits to the server one after the other, each for the text that the one before left. */
export function useOperations(draft: Draft, dialect: string, onDrawing: (text: string, drawing: DesignDrawing) => void, onSelect: (steps: string[]) => void): Operations {
  const queue = useRef<Promise<unknown>>(Promise.resolve())
  const [pending, setPending] = useState<PendingRemoval | null>(null)

  const run = async (operation: Operation, isConfirmed: boolean): Promise<string | null> => {
    const before = draft.snapshot().text
    try {
      const result = await requestEdit(before, draft.name, dialect, operation)
      // The source was edited in the meantime: the edit belongs to a text that does not exist any more.
      if (draft.snapshot().text !== before) return run(operation, isConfirmed)
      if (operation.op === 'remove' && !isConfirmed) {
        const readers = readersOf(result.affected, result.removed)
        if (readers.length > 0) {
          setPending({ steps: operation.steps, readers, confirm: () => void enqueue(operation, true) })
          return null
        }
      }
      draft.edit(result.text, nameOf(operation))
      if (result.drawing) onDrawing(result.text, result.drawing)
      if (result.selected) onSelect([result.selected])
      else if (operation.op === 'remove') onSelect([])
      announce(sentenceOf(operation, result.selected ?? null))
      return result.selected ?? null
    } catch (error) {
      showToast({ text: error instanceof Problem ? error.detail || error.title : String(error) })
      return null
    }
  }
  const enqueue = (operation: Operation, isConfirmed = false): Promise<string | null> => {
    setPending(null)
    const next = queue.current.then(() => run(operation, isConfirmed))
    queue.current = next
    return next
  }
  return { perform: (operation) => enqueue(operation), pending, dismiss: () => setPending(null) }
}

function sentenceOf(operation: Operation, selected: string | null): string {
  if (operation.op === 'add') return `Added ${selected ?? operation.step_type}.`
  if (operation.op === 'remove') return `Deleted ${joinNames(operation.steps)}.`
  const name = nameOf(operation)
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}: done.`
}
