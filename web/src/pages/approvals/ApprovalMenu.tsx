import { useQuery } from '@tanstack/react-query'
import { Ban, Ellipsis, Link2, UserRoundPlus } from 'lucide-react'
import { useState } from 'react'
import type { ApprovalRecord } from '../../api/approvals.ts'
import { meQuery } from '../../api/queries.ts'
import { IconButton } from '../../ui/Button.tsx'
import { copyText } from '../../ui/clipboard.ts'
import { Menu, type MenuEntry } from '../../ui/Menu.tsx'
import { CancelApprovalDialog } from './CancelApprovalDialog.tsx'
import { DelegateDialog } from './DelegateDialog.tsx'

/** Copy the link; delegate the own vote; cancel the approval. What a person may not do is not listed. */
export function ApprovalMenu({ approval, user }: { approval: ApprovalRecord; user: string }) {
  const [dialog, setDialog] = useState<'delegate' | 'cancel' | null>(null)
  const me = useQuery(meQuery).data
  const isOpen = approval.status === 'open'
  const isRequest = Array.isArray(approval.recipients)
  const hasVoted = approval.votes.some((vote) => (vote.on_behalf_of ?? vote.user) === user)
  const own = approval.delegations?.find((entry) => entry.recipient === user)
  const mayDelegate = isOpen && isRequest && !hasVoted && (approval.may_delegate ?? approval.recipients?.includes(user) ?? false)
  const mayCancel = isOpen && isRequest && (approval.may_cancel ?? me?.can.administer ?? false)
  const entries: (MenuEntry | null)[] = [
    { label: 'Copy link', icon: Link2, onSelect: () => void copyText(location.href, 'the link to this approval') },
    ...(mayDelegate ? [{ label: own ? 'Change delegation' : 'Delegate my vote', icon: UserRoundPlus, onSelect: () => setDialog('delegate') }] : []),
    ...(mayCancel ? [null, { label: 'Cancel approval', icon: Ban, danger: true, onSelect: () => setDialog('cancel') }] : []),
  ]
  return (
    <>
      <Menu trigger={<IconButton label="More about this approval" icon={Ellipsis} />} entries={entries} />
      {dialog === 'delegate' && <DelegateDialog approval={approval} own={own ?? null} onClose={() => setDialog(null)} />}
      {dialog === 'cancel' && <CancelApprovalDialog approval={approval} onClose={() => setDialog(null)} />}
    </>
  )
}
