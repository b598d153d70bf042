import type { Approval } from '../../api/types.ts'

/** Soonest deadline first; without a deadline, the oldest first. */
export function byDeadline(approvals: Approval[]): Approval[] {
  return [...approvals].sort((left, right) => {
    if (left.deadline && right.deadline) return left.deadline.localeCompare(right.deadline)
    if (left.deadline || right.deadline) return left.deadline ? -1 : 1
    return left.requested.localeCompare(right.requested)
  })
}

/** A Markdown prompt as one line of plain text, for lists. */
export function plainPrompt(prompt: string): string {
  return prompt
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_`#>]+/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** The first line is the question; the rest is the content to decide on. */
export function splitPrompt(prompt: string): { question: string; content: string } {
  const trimmed = prompt.trim()
  const end = trimmed.search(/\n/)
  if (end < 0) return { question: trimmed, content: '' }
  return { question: trimmed.slice(0, end).trim(), content: trimmed.slice(end).trim() }
}
