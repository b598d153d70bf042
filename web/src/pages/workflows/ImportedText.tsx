import '../../source/source.css'
import { FileUp } from 'lucide-react'
import { lazy, Suspense, useMemo, useRef, useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { plural } from '../../ui/format.ts'
import { applyEdits, countProblems, findingsOf, useCheck } from '../workflow/checks.ts'
import { capital, fixLabel, SeverityIcon, WithCode } from '../workflow/Problems.tsx'
import { ownName } from './names.ts'

const SourceEditor = lazy(() => import('../../source/SourceEditor.tsx'))

const MAX_BYTES = 4_000_000

/** A text that becomes a workflow, with what the server finds in it. */
export function useImport(initial: string, name: string) {
  const [text, setText] = useState(initial)
  const check = useCheck(text, name || undefined, undefined)
  const findings = useMemo(() => findingsOf(check.checked), [check.checked])
  const isFresh = check.checked?.text === text
  const isEmpty = text.trim() === ''
  return {
    text, setText, check, findings: isEmpty ? [] : findings, ownName: ownName(text), isPending: !isFresh,
    dialect: isEmpty ? null : check.checked?.result.dialect ?? null, canSave: !isEmpty && isFresh && check.checked?.result.ok === true,
  }
}

export function ImportedText({ source, how, onFile }: { source: ReturnType<typeof useImport>; how: 'paste' | 'import'; onFile: (name: string) => void }) {
  const picker = useRef<HTMLInputElement>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const read = async (file: File | undefined) => {
    if (!file) return
    if (file.size > MAX_BYTES) return setRefused(`${file.name} has more than 4 MB.`)
    setRefused(null)
    source.setText(await file.text())
    onFile(file.name.replace(/\.(ya?ml|json)$/i, ''))
  }
  const { errors, warnings } = countProblems(source.findings)
  return (
    <div className="import">
      {how === 'import' && (
        <div className="row import-file">
          <input ref={picker} type="file" accept=".yaml,.yml,.json" hidden aria-label="Workflow file" onChange={(event) => void read(event.target.files?.[0])} />
          <Button icon={FileUp} onClick={() => picker.current?.click()}>Choose a file</Button>
          <span className="muted small">{refused ?? 'Or drop a YAML or JSON file anywhere.'}</span>
        </div>
      )}
      <div className="import-source">
        <Suspense>
          <SourceEditor text={source.text} label="Workflow document" onChange={source.setText} marks={source.findings.map((finding) => ({ from: finding.from, to: finding.to, severity: finding.severity, message: finding.message, help: finding.help ?? null, kind: finding.kind, fixes: [] }))} />
        </Suspense>
      </div>
      <div className="row import-summary small" role="status">
        {source.dialect && <span className="dialect">{source.dialect}</span>}
        {errors > 0 && <span className="sev-error">{plural(errors, 'error')}</span>}
        {warnings > 0 && <span className="sev-warning">{plural(warnings, 'warning')}</span>}
        {source.text.trim() === '' ? <span className="muted">Paste a document. Its dialect is recognised from its content.</span> : errors + warnings === 0 && !source.isPending && <span className="muted">No problems</span>}
      </div>
      {source.findings.length > 0 && (
        <ol className="import-problems" aria-label="Problems">
          {source.findings.map((finding, index) => (
            <li key={index} className="problem">
              <SeverityIcon severity={finding.severity} />
              <span className="grow" title={finding.help ?? undefined}><WithCode text={capital(finding.message)} />{finding.help && <span className="muted small"> {finding.help.replaceAll('`', '')}</span>}</span>
              {(finding.fixes ?? []).map((fix, at) => (
                <Button key={at} small onClick={() => source.check.checked?.text === source.text && source.setText(applyEdits(source.text, fix.edits))}>{fixLabel(fix)}</Button>
              ))}
              <span className="p-line muted small num">{finding.line ? `line ${finding.line}` : ''}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}
