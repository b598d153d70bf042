import { useEffect, useMemo, useState } from 'react'
import { announce } from '../../ui/announce.tsx'
import { applyEdits, countProblems, type Finding, findingsOf, useCheck } from './checks.ts'
import type { Draft } from './draft/draft.ts'

/** The problems of the draft: the list, the current one, and quick fixes. */
export function useFindings(draft: Draft, text: string, name: string, dialect: string, isAllowed: boolean, onShow: (finding: Finding, focus: boolean) => void) {
  const check = useCheck(text, name, dialect, isAllowed)
  const findings = useMemo(() => findingsOf(check.checked), [check.checked])
  const [finding, setFinding] = useState<Finding | null>(null)
  const isFresh = check.checked?.text === text
  const { errors, warnings } = countProblems(findings)
  useEffect(() => {
    if (isFresh) draft.setProblems(errors, warnings)
  }, [isFresh, errors, warnings])
  useEffect(() => {
    if (finding && !findings.includes(finding)) setFinding(null)
  }, [findings])

  const selectFinding = (next: Finding, focus: boolean) => {
    setFinding(next)
    onShow(next, focus)
  }
  const nextProblem = (backwards: boolean) => {
    const next = neighbour(findings, finding, backwards)
    if (!next) return announce('There are no problems.')
    selectFinding(next, true)
    announce(`${next.severity}: ${next.message.replaceAll('`', '')}`)
  }
  const fix = (target: Finding, at: number) => {
    const chosen = target.fixes?.[at]
    // A fix belongs to the text that was checked.
    if (!chosen || !check.checked || check.checked.text !== draft.snapshot().text) return
    draft.edit(applyEdits(check.checked.text, chosen.edits), `fix ${target.kind}`)
  }
  return { check, findings, finding, isFresh, selectFinding, nextProblem, fix }
}

function neighbour(findings: Finding[], current: Finding | null, backwards: boolean): Finding | null {
  if (findings.length === 0) return null
  const at = current ? findings.indexOf(current) : -1
  if (at < 0) return (backwards ? findings[findings.length - 1] : findings[0]) ?? null
  return findings[(at + (backwards ? -1 : 1) + findings.length) % findings.length] ?? null
}
