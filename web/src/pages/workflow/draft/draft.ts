import { useSyncExternalStore } from 'react'
import type { WorkflowDetail } from '../../../api/types.ts'
import { browserDrafts, type DraftRecords, latestDraft } from './draftRecords.ts'
import { emptyHistory, type History, recordEdit, redo, undo } from './history.ts'

export interface DraftState {
  text: string
  /** The version that is edited. */
  base: { version: number; hash: string; text: string }
  history: History
  editedAt: number | null
  /** Whether the browser has stored the last edit; `failed` if it cannot. */
  stored: 'no' | 'yes' | 'failed'
  /** The source is edited, so it differs from the version. */
  isEdited: boolean
}

const SAVE_AFTER_MS = 300

/** The draft of one workflow. It lives as long as the browser tab, so changing the page keeps the undo history. */
export class Draft {
  private readonly listeners = new Set<() => void>()
  private timer: ReturnType<typeof setTimeout> | null = null
  private problems = { errors: 0, warnings: 0 }
  private state: DraftState
  readonly name: string
  private readonly records: DraftRecords

  constructor(name: string, records: DraftRecords, base: { version: number; hash: string; text: string }) {
    this.name = name
    this.records = records
    this.state = { text: base.text, base, history: emptyHistory, editedAt: null, stored: 'no', isEdited: false }
  }

  snapshot = (): DraftState => this.state

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Changes the text. `name` is what undo shows. */
  edit(text: string, name: string, isTyping = false): void {
    if (text === this.state.text) return
    const time = Date.now()
    const history = recordEdit(this.state.history, { name, before: this.state.text, after: text, time, isTyping })
    this.change({ text, history })
  }

  undo(): string | null {
    return this.move(undo(this.state.history, this.state.text))
  }

  redo(): string | null {
    return this.move(redo(this.state.history, this.state.text))
  }

  private move(step: { history: History; text: string; name: string } | null): string | null {
    if (!step) return null
    this.change({ text: step.text, history: step.history })
    return step.name
  }

  private change(patch: { text: string; history: History }): void {
    const isEdited = patch.text !== this.state.base.text
    this.state = { ...this.state, ...patch, isEdited, editedAt: Date.now(), stored: 'no' }
    this.publish()
    this.storeSoon()
  }

  /** The problems of the draft, which the list of workflows shows. */
  setProblems(errors: number, warnings: number): void {
    if (this.problems.errors === errors && this.problems.warnings === warnings) return
    this.problems = { errors, warnings }
    if (this.state.isEdited) this.storeSoon()
  }

  /** Continues a stored draft. */
  restore(text: string, base: { version: number; hash: string }, editedAt: number, baseText: string): void {
    this.state = { ...this.state, text, base: { ...base, text: baseText }, editedAt, stored: 'yes', isEdited: true }
    this.publish()
  }

  /** After a save, or when the draft is discarded: the text of the version is the base of what follows. */
  async rebase(base: { version: number; hash: string; text: string }, keepText = false): Promise<void> {
    const old = this.state.base.version
    const text = keepText ? this.state.text : base.text
    const history = keepText ? this.state.history : recordEdit(this.state.history, { name: 'discard the draft', before: this.state.text, after: text, time: Date.now(), isTyping: false })
    this.state = { ...this.state, text, base, history, isEdited: text !== base.text, stored: 'no', editedAt: text === base.text ? null : this.state.editedAt }
    this.publish()
    await this.records.remove(this.name, old).catch(() => undefined)
    this.storeSoon()
  }

  private storeSoon(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.store(), SAVE_AFTER_MS)
  }

  /** Writes the draft to the browser now. */
  async store(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    const { text, base, isEdited, editedAt } = this.state
    try {
      if (isEdited) {
        await this.records.put({ name: this.name, baseVersion: base.version, baseHash: base.hash, text, editedAt: editedAt ?? Date.now(), ...this.problems })
      } else {
        await this.records.remove(this.name, base.version)
      }
      if (this.state.text === text) this.state = { ...this.state, stored: isEdited ? 'yes' : 'no' }
    } catch {
      this.state = { ...this.state, stored: 'failed' }
    }
    this.publish()
  }

  private publish(): void {
    for (const listener of this.listeners) listener()
  }
}

const drafts = new Map<string, Promise<Draft>>()

/** The draft of a workflow, continued from the browser's storage if there is one. */
export function openDraft(detail: WorkflowDetail, textOf: (version: number) => Promise<string>, records: DraftRecords = browserDrafts): Promise<Draft> {
  const known = drafts.get(detail.name)
  if (known) return known
  const opened = open(detail, textOf, records)
  drafts.set(detail.name, opened)
  return opened
}

async function open(detail: WorkflowDetail, textOf: (version: number) => Promise<string>, records: DraftRecords): Promise<Draft> {
  const draft = new Draft(detail.name, records, { version: detail.version, hash: detail.hash, text: detail.text })
  try {
    const stored = latestDraft(await records.all(), detail.name, detail.version)
    if (stored && stored.text !== detail.text) {
      const baseText = stored.baseVersion === detail.version ? detail.text : await textOf(stored.baseVersion).catch(() => '')
      draft.restore(stored.text, { version: stored.baseVersion, hash: stored.baseHash }, stored.editedAt, baseText)
    }
    // A page that is closed right after a keystroke keeps it.
    if (typeof window !== 'undefined') window.addEventListener('pagehide', () => draft.snapshot().stored === 'no' && draft.snapshot().isEdited && void draft.store())
  } catch {
    // Without storage the draft lives in this tab only; the header says so after the first edit.
  }
  return draft
}

/** Forgets the drafts of this tab. Tests begin with none. */
export function forgetDrafts(): void {
  drafts.clear()
}

export function useDraftState(draft: Draft): DraftState {
  return useSyncExternalStore(draft.subscribe, draft.snapshot)
}
