/**
 * A text as the editor keeps it, where every line ends with one character, and the way back.
 * Documents whose lines end with CRLF stay so.
 */
export interface EditorText {
  doc: string
  /** A position of the text as a position of the editor. */
  toEditor: (position: number) => number
  fromEditor: (position: number) => number
  /** The text of an edited document. */
  restore: (doc: string) => string
}

const same = (position: number) => position

export function editorText(text: string): EditorText {
  if (!text.includes('\r')) return { doc: text, toEditor: same, fromEditor: same, restore: (doc) => doc }
  const doc = text.replace(/\r\n?/g, '\n')
  const isWindows = !/[^\r]\n/.test(text) && !text.startsWith('\n')
  const returns = [...text.matchAll(/\r\n/g)].map((match) => match.index)
  return {
    doc,
    toEditor: (position) => position - countBelow(returns, position),
    fromEditor: (position) => {
      let count = 0
      // The n-th pair is n characters further left in the editor.
      while (count < returns.length && (returns[count] ?? 0) - count < position) count += 1
      return position + count
    },
    restore: (edited) => (isWindows ? edited.replaceAll('\n', '\r\n') : edited),
  }
}

/** How many of the sorted positions are below a position. */
function countBelow(sorted: number[], position: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < position) low = middle + 1
    else high = middle
  }
  return low
}
