import { Link } from '@tanstack/react-router'
import { OctagonAlert, TriangleAlert } from 'lucide-react'
import type { Diagnostic } from '../../api/types.ts'
import { Icon } from '../../ui/icons.tsx'
import { utf16Positions } from './marks.ts'

/** Why a condition does not compile: the line with a caret, and what to do. */
export function Problems({ findings, text }: { findings: Diagnostic[]; text: string }) {
  return (
    <ul className="pg-problems" aria-label="Problems">
      {findings.map((finding, index) => <Problem key={index} finding={finding} text={text} />)}
    </ul>
  )
}

function Problem({ finding, text }: { finding: Diagnostic; text: string }) {
  const utf16 = utf16Positions(text)
  const start = utf16(finding.start)
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const lineEnd = text.indexOf('\n', start)
  const line = text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd)
  const width = Math.max(1, Math.min(utf16(finding.end) - start, line.length - (start - lineStart)))
  const isError = finding.severity === 'error'
  return (
    <li>
      <p className="row"><span className={isError ? 'sev-error' : 'sev-warning'}><Icon of={isError ? OctagonAlert : TriangleAlert} size={14} /></span><span className="grow">{finding.message}</span>
        <Link className="link small" to="/docs/$kind" params={{ kind: finding.detail ?? finding.kind }}>{finding.detail ?? finding.kind}</Link></p>
      <pre className="mono11">{`${line}\n${' '.repeat(start - lineStart)}${'^'.repeat(width)}`}</pre>
      {finding.help && <p className="soft small">{finding.help}</p>}
    </li>
  )
}
