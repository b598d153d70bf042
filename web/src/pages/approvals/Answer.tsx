import { Check, X } from 'lucide-react'
import { type RefObject, useEffect, useRef, useState } from 'react'
import type { ApprovalRecord } from '../../api/approvals.ts'
import type { Choice } from '../../api/types.ts'
import { Button } from '../../ui/Button.tsx'
import { serverNow } from '../../ui/clock.ts'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { choiceKeys, choiceLabel, isPrimary } from './choices.ts'
import { useDraft } from './drafts.ts'
import { FormFields } from './FormFields.tsx'
import { formFields, readForm } from './formValues.ts'
import { requestId } from './inbox.ts'
import { effectOfVote, effectSentence, hintSentence, recipientOfVote } from './quorum.ts'
import { VoteRejected } from './VoteRejected.tsx'
import { type Ballot, clearVote, type Send, sendVote, unconfirmedVote, useVoteState } from './votes.ts'

interface AnswerProps {
  approval: ApprovalRecord
  user: string
  send: Send
  onRecorded: (approval: ApprovalRecord, choice: string) => void
  onReload: () => void
  onNext?: () => void
  phone?: boolean
  linkOnly?: boolean
  /** A rejected or unconfirmed vote is in view, but no other can be given. */
  isClosed?: boolean
}

/** Comment, form and choices. A vote takes two actions: select a choice, then confirm it. Nothing is lost when it is rejected. */
export function Answer({ approval, user, send, onRecorded, onReload, onNext, phone, linkOnly, isClosed }: AnswerProps) {
  // A loop can request the same approval again: votes and drafts belong to one request.
  const id = requestId(approval)
  const [draft, change, clearDraft] = useDraft(id)
  const [armed, setArmed] = useState<Choice | null>(null)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [sentAt, setSentAt] = useState(() => new Date(serverNow()))
  const comment = useRef<HTMLTextAreaElement>(null)
  const state = useVoteState(id)
  const fields = formFields(approval.form, approval.form_defaults)
  const isSending = state?.kind === 'sending'
  // An approval without choices takes any text.
  const isFreeText = approval.choices.length === 0

  const submit = async (ballot: Ballot) => {
    setSentAt(new Date(serverNow()))
    const recorded = await sendVote(id, ballot, send)
    if (recorded) {
      clearDraft()
      setArmed(null)
      onRecorded(recorded, ballot.choice)
    } else {
      setArmed(null)
      onReload()
    }
  }
  const select = (choice: Choice) => {
    if (isSending) return
    clearVote(id)
    const read = readForm(fields, draft.form)
    const problems = choice.meaning === 'no' ? {} : read.errors
    setErrors(problems)
    const first = Object.keys(problems)[0]
    if (first === undefined) setArmed(choice)
    else document.getElementById(`form-${first}`)?.focus()
  }
  const confirm = () => {
    if (!armed || isSending) return
    const { values } = readForm(fields, draft.form)
    const text = draft.comment.trim()
    void submit({
      choice: armed.name,
      ...(text === '' || isFreeText ? {} : { comment: text }),
      ...(fields.length > 0 && armed.meaning !== 'no' ? { form: values } : {}),
      ...(approval.shown_hash ? { shown_hash: approval.shown_hash } : {}),
    })
  }
  useEffect(() => {
    // The response to this vote was lost when the page was closed: it is sent again with the same key.
    const unconfirmed = unconfirmedVote(id)
    if (unconfirmed && !isSending) void submit(unconfirmed)
  }, [id])
  useEffect(() => setErrors({}), [id])

  const keys = choiceKeys(approval.choices)
  useShortcuts([
    ...approval.choices.map((choice) => ({ keys: keys.get(choice.name) ?? '', label: `Select ${choice.name}`, run: () => select(choice) })).filter((shortcut) => shortcut.keys !== ''),
    ...approval.choices.slice(0, 9).map((choice, index) => ({ keys: String(index + 1), label: `Select ${choice.name}`, run: () => select(choice), hidden: true })),
    { keys: 'c', label: 'Add a comment', run: () => comment.current?.focus() },
  ], !phone && !isClosed)
  useShortcuts([
    { keys: 'Enter', label: armed ? `Vote ${armed.name}` : 'Vote', run: confirm },
    { keys: 'Escape', label: 'Back to the choices', run: () => setArmed(null) },
  ], armed !== null)

  const behalf = recipientOfVote(approval, user, serverNow())
  const commentField = (
    <textarea
      ref={comment} className="textarea" rows={phone ? 1 : 2} value={draft.comment} maxLength={4000} aria-label={isFreeText ? 'Answer' : 'Comment'}
      placeholder={isFreeText ? 'Write an answer' : phone ? 'Add a comment' : 'Add a comment (optional)'} onChange={(event) => change({ comment: event.target.value })}
      onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
    />
  )
  return (
    <div className="answer">
      {state?.kind === 'rejected' && (
        <VoteRejected problem={state.problem} approval={approval} user={user} sentAt={sentAt} onNext={onNext} onAgain={() => clearVote(id)} linkOnly={linkOnly} />
      )}
      {fields.length > 0 && !isClosed && (
        <FormFields fields={fields} typed={draft.form} errors={errors} onChange={(name, value) => change({ form: { ...draft.form, [name]: value } })} />
      )}
      {(!isClosed || draft.comment !== '') && commentField}
      {behalf !== null && behalf !== user && <p className="soft small behalf">You vote for <b>{behalf}</b>, who delegated this vote to you.</p>}
      {armed || isSending
        ? <Confirm choice={armed ?? { name: state?.ballot.choice ?? '', meaning: 'other' }} approval={approval} user={user} state={isSending ? state.attempt : null} onConfirm={confirm} onBack={() => setArmed(null)} phone={phone} />
        : isClosed ? null
        : isFreeText ? <SendAnswer text={draft.comment.trim()} phone={phone} onSelect={select} />
        : <Choices approval={approval} user={user} keys={keys} onSelect={select} phone={phone} />}
    </div>
  )
}

function SendAnswer({ text, phone, onSelect }: { text: string; phone?: boolean; onSelect: (choice: Choice) => void }) {
  return (
    <div className="row choices">
      <Button big={!phone} className={phone ? 'btn-touch' : ''} look="primary" action disabled={text === ''} onClick={() => onSelect({ name: text, meaning: 'other' })}>Answer</Button>
      <span className="grow" />
      <span className="soft small">Anyone can answer; the first answer decides.</span>
    </div>
  )
}

function Choices({ approval, user, keys, onSelect, phone }: { approval: ApprovalRecord; user: string; keys: Map<string, string>; onSelect: (choice: Choice) => void; phone?: boolean }) {
  const hint = hintSentence(approval, user, serverNow())
  // On a phone, the yes is under the right thumb.
  const choices = phone && approval.choices.length === 2 ? [...approval.choices].sort((left) => (left.meaning === 'yes' ? 1 : -1)) : approval.choices
  return (
    <>
      <div className={`row choices${approval.choices.length > 2 ? ' many' : ''}`}>
        {choices.map((choice) => (
          <Button
            key={choice.name} title={choice.name} big={!phone} className={phone ? 'btn-touch' : ''} look={isPrimary(choice, approval.choices) ? 'primary' : 'plain'} action
            icon={phone ? undefined : choice.meaning === 'yes' ? Check : choice.meaning === 'no' ? X : undefined}
            shortcut={phone ? undefined : keys.get(choice.name)?.toUpperCase()} onClick={() => onSelect(choice)}
          >
            <span className="clip">{choiceLabel(choice)}</span>
          </Button>
        ))}
        {!phone && approval.choices.length <= 2 && <><span className="grow" /><span className="soft small">{hint}<br />Votes can’t be changed.</span></>}
      </div>
      {(phone || approval.choices.length > 2) && <p className={phone ? 'muted small phone-hint' : 'soft small choices-hint'}>{phone ? hint.replace('; the run continues immediately', '') : hint} Votes can’t be changed.</p>}
    </>
  )
}

function Confirm({ choice, approval, user, state, onConfirm, onBack, phone }: {
  choice: Choice
  approval: ApprovalRecord
  user: string
  /** The number of the attempt while the vote is being sent. */
  state: number | null
  onConfirm: () => void
  onBack: () => void
  phone?: boolean
}) {
  const button: RefObject<HTMLButtonElement | null> = useRef(null)
  useEffect(() => button.current?.focus(), [])
  const isSending = state !== null
  const sentence = isSending
    ? state > 0 ? 'No response arrived. Sending the same vote again; it counts once.' : 'Sending the vote.'
    : effectSentence(effectOfVote(approval, choice.name, user, serverNow()))
  return (
    <>
      <div className="row choices">
        {phone && !isSending && <Button look="quiet" className="btn-touch" onClick={onBack}>Back</Button>}
        <Button
          ref={button} big={!phone} className={phone ? 'btn-touch' : ''} look="armed" action={!isSending} disabled={isSending}
          icon={phone ? undefined : choice.meaning === 'no' ? X : Check} shortcut={phone || isSending ? undefined : 'Enter'}
          // The second click of a double click is not a confirmation.
          onClick={(event) => event.detail < 2 && onConfirm()}
        >
          <span className="clip">{approval.choices.length === 0 ? 'Send answer' : `Vote ${choice.name}`}</span>
        </Button>
        {!phone && !isSending && <Button big look="quiet" shortcut="Esc" onClick={onBack}>Back</Button>}
      </div>
      <p className={phone ? 'muted small phone-hint' : 'soft small choices-hint'} role="status">{sentence}</p>
    </>
  )
}
