import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { get, Problem, put, segment } from '../../api/client.ts'
import type { WorkflowDetail, WorkflowVersion } from '../../api/types.ts'
import { announce } from '../../ui/announce.tsx'
import type { SaveConflict } from './Conflict.tsx'
import type { Draft } from './draft/draft.ts'

export interface Saving {
  isSaving: boolean
  conflict: SaveConflict | null
  error: Problem | null
  /** Saves the draft as a new version. With `onto`, over a version that somebody else saved. */
  save: (onto?: number) => Promise<boolean>
  dismiss: () => void
}

/** Saves a draft. A version that was saved in the meantime is a conflict, and the draft stays. */
export function useSave(name: string, draft: Draft): Saving {
  const client = useQueryClient()
  const [isSaving, setSaving] = useState(false)
  const [conflict, setConflict] = useState<SaveConflict | null>(null)
  const [error, setError] = useState<Problem | null>(null)
  const path = `/workflows/${segment(name)}`

  const findConflict = async (problem: Problem): Promise<SaveConflict> => {
    // The problem names the version; who saved it is in the workflow.
    const latest = await get<WorkflowDetail>(path).catch(() => null)
    if (latest) client.setQueryData(['workflow', name, 'latest'], latest)
    const version: WorkflowVersion | undefined = latest?.versions.find((entry) => entry.version === latest.version)
    return {
      version: latest?.version ?? Number(problem.extra.version ?? 0), savedBy: version?.saved_by ?? null, savedAt: latest?.saved_at ?? null,
      baseVersion: draft.snapshot().base.version,
    }
  }

  const save = async (onto?: number): Promise<boolean> => {
    const { text, base } = draft.snapshot()
    setSaving(true)
    setError(null)
    try {
      const saved = await (onto === undefined
        ? put<WorkflowDetail>(path, { text }, { 'if-match': `"${base.hash}"` })
        : put<WorkflowDetail>(path, { text, base_version: onto }))
      client.setQueryData(['workflow', name, 'latest'], saved)
      void client.invalidateQueries({ queryKey: ['workflows'] })
      await draft.rebase({ version: saved.version, hash: saved.hash, text: saved.text }, true)
      setConflict(null)
      announce(`Saved version ${saved.version} of ${name}.`)
      return true
    } catch (failure) {
      if (failure instanceof Problem && failure.status === 409) setConflict(await findConflict(failure))
      else setError(failure instanceof Problem ? failure : new Problem(0, { detail: String(failure) }))
      return false
    } finally {
      setSaving(false)
    }
  }
  return { isSaving, conflict, error, save, dismiss: () => setError(null) }
}
