import { useState } from 'react'

export interface Draft {
  comment: string
  form: Record<string, unknown>
}

const EMPTY: Draft = { comment: '', form: {} }

/** The comment and the form of an approval, kept in this tab until the vote is recorded. */
export function useDraft(key: string): [Draft, (change: Partial<Draft>) => void, () => void] {
  const [draft, setDraft] = useState(() => read(key))
  const change = (part: Partial<Draft>) => {
    setDraft((old) => {
      const next = { ...old, ...part }
      write(key, next)
      return next
    })
  }
  const clear = () => {
    setDraft(EMPTY)
    write(key, null)
  }
  return [draft, change, clear]
}

function read(key: string): Draft {
  try {
    const draft = JSON.parse(sessionStorage.getItem(`draft:${key}`) ?? 'null') as Partial<Draft> | null
    return { comment: typeof draft?.comment === 'string' ? draft.comment : '', form: draft?.form ?? {} }
  } catch {
    return EMPTY
  }
}

function write(key: string, draft: Draft | null): void {
  try {
    if (draft === null) sessionStorage.removeItem(`draft:${key}`)
    else sessionStorage.setItem(`draft:${key}`, JSON.stringify(draft))
  } catch {
    // Without storage, the draft lasts as long as the page.
  }
}
