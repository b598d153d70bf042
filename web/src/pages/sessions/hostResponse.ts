import type { SessionDetail } from '../../api/types.ts'

/** What the host of a session got in response to its last request. */
export function hostResponse(session: SessionDetail): string {
  const { activeStep, allowedTools, recentlyUsedTools, sequenceIndex, changed } = session.view
  return JSON.stringify({ activeStep, allowedTools, recentlyUsedTools, sequenceIndex, changed }, null, 1)
    .replace(/\[\s+([^\]]*?)\s+\]/g, (_, items: string) => `[${items.replace(/\s*\n\s*/g, ' ')}]`)
}
