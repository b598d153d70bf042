import { Link } from '@tanstack/react-router'
import { ChevronDown, ChevronUp, CircleAlert, TriangleAlert } from 'lucide-react'
import { Fragment, type ReactNode } from 'react'
import { Button, IconButton } from '../../ui/Button.tsx'
import { plural } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import type { Finding } from './checks.ts'

interface ProblemsProps {
  findings: Finding[]
  selected: Finding | null
  isPending: boolean
  note: string
  isOpen: boolean
  onToggle: () => void
  onSelect: (finding: Finding) => void
  onFix: (finding: Finding, fix: number) => void
}

/** The findings of the server, in the order of the document, with quick fixes. */
export function Problems({ findings, selected, isPending, note, isOpen, onToggle, onSelect, onFix }: ProblemsProps) {
  const errors = findings.filter((finding) => finding.severity === 'error').length
  const warnings = findings.length - errors
  return (
    <section className="problems" aria-label="Problems">
      <div className="problems-head">
        <b>Problems</b>
        {errors > 0 && <span className="count count-failed" aria-label={plural(errors, 'error')}>{errors}</span>}
        {warnings > 0 && <span className="count count-people" aria-label={plural(warnings, 'warning')}>{warnings}</span>}
        {findings.length === 0 && <span className="muted small">{isPending ? 'Checking' : 'None'}</span>}
        <span className="grow" />
        <span className="muted small">{note}</span>
        <IconButton label={isOpen ? 'Collapse problems' : 'Expand problems'} icon={isOpen ? ChevronDown : ChevronUp} aria-expanded={isOpen} onClick={onToggle} />
      </div>
      {isOpen && findings.length > 0 && (
        <ol className="problem-list" aria-label="List of problems">
          {findings.map((finding, index) => (
            <li key={index} className="problem" aria-current={finding === selected || undefined} onClick={(event) => isPlain(event.target) && onSelect(finding)}>
              <SeverityIcon severity={finding.severity} />
              <button type="button" className="problem-text" title={finding.help ?? undefined} onClick={() => onSelect(finding)}>
                <WithCode text={capital(finding.message)} />
              </button>
              {(finding.fixes ?? []).map((fix, at) => (
                <Button key={at} small onClick={() => onFix(finding, at)}>{fixLabel(fix)}</Button>
              ))}
              <span className="grow" />
              <Link className="muted small problem-kind" to="/docs/$kind" params={{ kind: finding.kind }}>{finding.kind}</Link>
              <span className="p-step small">{finding.step}</span>
              <span className="p-line muted small num">{finding.line ? `line ${finding.line}` : ''}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

export function SeverityIcon({ severity }: { severity: string }) {
  return severity === 'error'
    ? <span className="sev-error" role="img" aria-label="Error"><Icon of={CircleAlert} size={15} /></span>
    : <span className="sev-warning" role="img" aria-label="Warning"><Icon of={TriangleAlert} size={15} /></span>
}

/** "Use max_attempts" where the fix is one word, else the server's title. */
export function fixLabel(fix: { title: string; edits: { text: string }[] }): string {
  const [edit] = fix.edits
  return fix.edits.length === 1 && edit && /^[\w.-]+$/.test(edit.text) ? `Use ${edit.text}` : fix.title.replaceAll('`', '')
}

/** Text whose parts in backquotes are shown as code. */
export function WithCode({ text }: { text: string }): ReactNode {
  return text.split(/(`[^`]*`)/).map((part, index) => (
    <Fragment key={index}>{index % 2 === 1 ? <code>{part.slice(1, -1)}</code> : part}</Fragment>
  ))
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A click on a button or link inside a row is not a click on the row. */
function isPlain(target: EventTarget): boolean {
  return target instanceof HTMLElement && target.closest('a, button') === null
}
