/** One replacement in a text. */
export interface Change {
  at: number
  removed: string
  inserted: string
}

export interface Entry {
  /** What was done, as it is shown: "delete score". */
  name: string
  change: Change
  time: number
  isTyping: boolean
}

/** The edits of one document, made on the canvas or in the source. */
export interface History {
  past: Entry[]
  future: Entry[]
}

export const MAX_ENTRIES = 200
// Keystrokes within this time become one entry.
const TYPING_MS = 1000

export const emptyHistory: History = { past: [], future: [] }

/** Adds the edit from one text to another. Keystrokes at the same place are combined. */
export function recordEdit(history: History, edit: { name: string; before: string; after: string; time: number; isTyping: boolean }): History {
  const change = changeBetween(edit.before, edit.after)
  if (change === null) return history
  const last = history.past[history.past.length - 1]
  const joined = last && edit.isTyping && last.isTyping && edit.time - last.time < TYPING_MS ? join(last.change, change) : null
  const entry: Entry = { name: edit.name, change: joined ?? change, time: edit.time, isTyping: edit.isTyping }
  const past = joined ? [...history.past.slice(0, -1), entry] : [...history.past, entry].slice(-MAX_ENTRIES)
  return { past, future: [] }
}

export function undo(history: History, text: string): { history: History; text: string; name: string } | null {
  const entry = history.past[history.past.length - 1]
  if (!entry) return null
  const { at, removed, inserted } = entry.change
  return {
    text: text.slice(0, at) + removed + text.slice(at + inserted.length),
    history: { past: history.past.slice(0, -1), future: [entry, ...history.future] },
    name: entry.name,
  }
}

export function redo(history: History, text: string): { history: History; text: string; name: string } | null {
  const entry = history.future[0]
  if (!entry) return null
  const { at, removed, inserted } = entry.change
  return {
    text: text.slice(0, at) + inserted + text.slice(at + removed.length),
    // A repeated edit is not combined with further keystrokes.
    history: { past: [...history.past, { ...entry, isTyping: false }], future: history.future.slice(1) },
    name: entry.name,
  }
}

/** The smallest replacement that turns one text into another; `null` if they are equal. */
export function changeBetween(before: string, after: string): Change | null {
  if (before === after) return null
  let start = 0
  const limit = Math.min(before.length, after.length)
  while (start < limit && before[start] === after[start]) start += 1
  let end = 0
  while (end < limit - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1
  return { at: start, removed: before.slice(start, before.length - end), inserted: after.slice(start, after.length - end) }
}

/** Two edits as one, if the second continues the first. */
function join(first: Change, second: Change): Change | null {
  const end = first.at + first.inserted.length
  if (second.removed === '' && second.at === end) return { ...first, inserted: first.inserted + second.inserted }
  const removedEnd = second.at + second.removed.length
  if (second.inserted === '' && removedEnd === end && second.removed.length <= first.inserted.length) {
    return { ...first, inserted: first.inserted.slice(0, first.inserted.length - second.removed.length) }
  }
  if (second.inserted === '' && first.inserted === '' && removedEnd === first.at) return { at: second.at, removed: second.removed + first.removed, inserted: '' }
  return null
}
