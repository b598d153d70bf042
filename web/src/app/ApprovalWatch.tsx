import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { splitKey } from '../api/approvals.ts'
import { approvalsQuery } from '../api/queries.ts'
import { requestId } from '../pages/approvals/inbox.ts'
import { firstParagraph, plainPrompt } from '../pages/approvals/order.ts'
import { announceNow } from '../ui/announce.tsx'
import { StatusIcon } from '../ui/StatusIcon.tsx'
import { showToast } from '../ui/toasts.tsx'

const LONGEST = 90

/** Announces an approval that needs my vote, once; elsewhere than in the inbox also as a toast. */
export function ApprovalWatch() {
  const items = useQuery(approvalsQuery('mine')).data?.items
  const path = useLocation().pathname
  const seen = useRef<Set<string> | null>(null)
  useEffect(() => {
    if (!items) return
    const before = seen.current
    seen.current = new Set([...(before ?? []), ...items.map(requestId)])
    if (before === null) return
    for (const approval of items.filter((item) => item.status === 'open' && !before.has(requestId(item))).slice(0, 3)) {
      const prompt = plainPrompt(firstParagraph(approval.prompt))
      const text = prompt.length > LONGEST ? `${prompt.slice(0, LONGEST)}…` : prompt
      announceNow(`${approval.step} in ${approval.run} needs your approval: ${text}`)
      const [run, n] = splitKey(approval.key)
      // The inbox and the page of the run show it already.
      if (path.startsWith('/approvals') || path === `/runs/${encodeURIComponent(run)}`) continue
      showToast({
        icon: <StatusIcon status="waiting_people" />,
        text: <><b>{run}</b> needs approval: {text}</>,
        action: <Link className="link" to="/approvals/$run/$n" params={{ run, n }}>Answer</Link>,
      })
    }
  }, [items])
  return null
}
