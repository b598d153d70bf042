import { useNavigate } from '@tanstack/react-router'
import { FlaskConical } from 'lucide-react'
import { useState } from 'react'
import { post, Problem, segment } from '../../api/client.ts'
import type { Decision, RunDetail, Step, WhatIf as WhatIfRecord } from '../../api/types.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Sentence } from '../../ui/Sentence.tsx'
import { BranchList } from './BranchList.tsx'

/** Decides again with other values. The run is not changed. */
export function WhatIf({ run, step, decision, number, onClose }: { run: RunDetail; step: Step; decision: Decision; number: number; onClose: () => void }) {
  const navigate = useNavigate()
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(decision.values.map((value) => [value.path, JSON.stringify(value.value)])))
  const [result, setResult] = useState<WhatIfRecord | null>(null)
  const [error, setError] = useState<string | null>(null)
  const decide = async () => {
    setError(null)
    try {
      const changed = decision.values.filter((value) => texts[value.path] !== JSON.stringify(value.value)).map((value) => [value.path, valueOf(texts[value.path] ?? '')])
      const answers = await post<WhatIfRecord[]>(`/runs/${segment(run.id)}/trace/${segment(step.key)}/what-if`, { with: Object.fromEntries(changed), decision: number })
      setResult(answers[0] ?? null)
    } catch (problem) {
      setError(problem instanceof Problem ? problem.message : String(problem))
    }
  }
  const inPlayground = () => void navigate({ to: '/playground', hash: playgroundHash(run, step, number, texts) })
  return (
    <Dialog open onClose={onClose} title={`Try other values for ${step.step}`} note="The run does not change" width={620} onConfirm={() => void decide()}>
      <div className="stack dialog-stack">
        {decision.values.map((value) => (
          <label key={value.path} className="fld"><code>{value.path}</code>
            <span className="input"><input className="mono" value={texts[value.path] ?? ''} spellCheck={false} onChange={(event) => setTexts({ ...texts, [value.path]: event.target.value })} /></span>
          </label>
        ))}
        {decision.values.length === 0 && <p className="soft">This decision read no values.</p>}
        {error && <p className="sev-error" role="alert">{error}</p>}
        {result && (
          <div aria-live="polite">
            <p className="label took">{result.same ? 'Takes the same branch: ' : 'Would take '}<b className="soft">{result.would_be.chosen ?? 'none'}</b></p>
            <p className="why-line"><Sentence text={result.would_be.sentence} whole /></p>
            <BranchList decision={result.would_be} />
          </div>
        )}
        <div className="row">
          <Button look="quiet" icon={FlaskConical} onClick={inPlayground}>Open in the playground</Button>
          <span className="grow" />
          <Button onClick={onClose}>Close</Button>
          <Button look="primary" action disabled={decision.values.length === 0} shortcut="Ctrl Enter" onClick={() => void decide()}>Decide</Button>
        </div>
      </div>
    </Dialog>
  )
}

/** JSON, or else the text itself: typing `bug` means "bug". */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The playground loads the condition and its values from the run; they never reach a server log. */
function playgroundHash(run: RunDetail, step: Step, number: number, texts: Record<string, string>): string {
  return new URLSearchParams({ run: run.id, step: step.key, decision: String(number), values: JSON.stringify(texts) }).toString()
}
