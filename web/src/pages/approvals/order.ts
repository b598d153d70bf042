
/** Soonest deadline first; without a deadline, the oldest first. */
export function byDeadline<T extends { deadline?: string | null; requested: string }>(approvals: T[]): T[] {
  return [...approvals].sort((left, right) => {
    if (left.deadline && right.deadline) return left.deadline.localeCompare(right.deadline)
    if (left.deadline || right.deadline) return left.deadline ? -1 : 1
    return left.requested.localeCompare(right.requested)
  })
}

/** A Markdown prompt as one line of plain text, for lists. Underscores inside words are part of names. */
export function plainPrompt(prompt: string): string {
  return prompt
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(#{1,6}|>|[-*+]|\d+\.)\s+/gm, '')
    .replace(/[*`]+/g, '')
    .replace(/(?<!\w)_{1,2}(\S(?:.*?\S)?)_{1,2}(?!\w)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim()
}

/** What comes before the first empty line: the question, without the content to decide on. */
export function firstParagraph(prompt: string): string {
  return prompt.trim().split(/\n\s*\n/)[0] ?? ''
}

// A first line that is longer than this is content, not a heading.
const LONGEST_QUESTION = 220

/** The first line is the question; the rest is the content to decide on. A long first line is divided after a sentence. */
export function splitPrompt(prompt: string): { question: string; content: string } {
  const trimmed = prompt.trim().replace(/^#{1,6}\s+/, '')
  const end = trimmed.search(/\n/)
  const first = end < 0 ? trimmed : trimmed.slice(0, end).trim()
  const rest = end < 0 ? '' : trimmed.slice(end).trim()
  if (first.length <= LONGEST_QUESTION) return { question: first, content: rest }
  const sentence = /^.{4,220}?[?!.:](?=\s)/.exec(first)?.[0]
  if (sentence === undefined) return { question: '', content: trimmed }
  return { question: sentence, content: trimmed.slice(sentence.length).trim() }
}
