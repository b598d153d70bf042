import type { Ref } from 'react'
import { Button } from '../../../ui/Button.tsx'
import type { Finding } from '../checks.ts'
import { capital, SeverityIcon, WithCode } from '../Problems.tsx'

/** The first problem of a document that people connect by hand, at the bottom of the canvas. */
export function Preflight({ finding, more, onShow, onRunAnyway, ref }: { finding: Finding; more: number; onShow: () => void; onRunAnyway: (() => void) | null; ref: Ref<HTMLDivElement> }) {
  return (
    <div className="preflight" id="preflight" role="status" tabIndex={-1} ref={ref}>
      <SeverityIcon severity={finding.severity} />
      <span className="preflight-text">
        <b><WithCode text={`${capital(finding.message)}.`} /></b> {finding.help && <WithCode text={`${capital(finding.help)}.`} />}
      </span>
      {more > 0 && <span className="muted small">and {more} more</span>}
      <Button small onClick={onShow}>Show</Button>
      {onRunAnyway && <Button small look="quiet" onClick={onRunAnyway}>Run anyway</Button>}
    </div>
  )
}
