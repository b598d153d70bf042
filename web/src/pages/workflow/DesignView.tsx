import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { meQuery } from '../../api/queries.ts'
import type { WorkflowDetail } from '../../api/types.ts'
import { ByteOffsets } from '../../source/offsets.ts'
import type { SourceHandle } from '../../source/SourceEditor.tsx'
import { announce } from '../../ui/announce.tsx'
import { Button, Segments } from '../../ui/Button.tsx'
import { NARROW, useMedia } from '../../ui/media.ts'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { When } from '../../ui/Values.tsx'
import { applyEdits, countProblems, type Finding, findingsOf, useCheck, useDrawing } from './checks.ts'
import { Conflict } from './Conflict.tsx'
import { designMenu } from './designMenu.ts'
import { type Draft, type DraftState, useDraftState } from './draft/draft.ts'
import { Problems } from './Problems.tsx'
import { RunButton } from './RunButton.tsx'
import { SourcePane } from './SourcePane.tsx'
import { useSave } from './useSave.ts'
import { WorkflowHeader } from './WorkflowHeader.tsx'

type Pane = 'canvas' | 'both' | 'source'

/** One document in two views: the source is authoritative, the canvas edits the same text. */
export function DesignView({ detail, draft }: { detail: WorkflowDetail; draft: Draft }) {
  const { name, dialect } = detail
  const navigate = useNavigate({ from: '/workflows/$name' })
  const search = useSearch({ from: '/workflows/$name' })
  const state = useDraftState(draft)
  const check = useCheck(state.text, name, dialect)
  const findings = useMemo(() => findingsOf(check.checked), [check.checked])
  const problems = countProblems(findings)
  const saving = useSave(name, draft)
  const me = useQuery(meQuery).data
  const isNarrow = useMedia(NARROW)
  const mayEdit = me?.can.edit !== false && !isNarrow
  const pane = paneOf(search.pane, dialect, isNarrow)
  const [problemsOpen, setProblemsOpen] = useState(true)
  const [finding, setFinding] = useState<Finding | null>(null)
  const source = useRef<SourceHandle>(null)
  const isFresh = check.checked?.text === state.text
  const canSave = state.isEdited && isFresh && problems.errors === 0 && !saving.isSaving

  useEffect(() => {
    if (isFresh) draft.setProblems(problems.errors, problems.warnings)
  }, [isFresh, problems.errors, problems.warnings])
  useEffect(() => {
    if (finding && !findings.includes(finding)) setFinding(null)
  }, [findings])

  const select = (step: string | null) => void navigate({ search: (old) => ({ ...old, step: step ?? undefined }), replace: true })
  const showFinding = (next: Finding, focus = false) => {
    setFinding(next)
    if (next.step) select(next.step)
    source.current?.reveal(next.from, focus)
  }
  const nextProblem = (backwards: boolean) => {
    const next = neighbour(findings, finding, backwards)
    if (!next) return
    showFinding(next, pane !== 'canvas')
    announce(`${next.severity}: ${next.message.replaceAll('`', '')}`)
  }
  const fix = (target: Finding, at: number) => {
    const chosen = target.fixes?.[at]
    // A fix belongs to the text that was checked.
    if (!chosen || !check.checked || check.checked.text !== draft.snapshot().text) return
    draft.edit(applyEdits(check.checked.text, chosen.edits), `fix ${target.kind}`)
  }
  const undo = () => say('Undo', draft.undo())
  const redo = () => say('Redo', draft.redo())
  const save = () => void (canSave && saving.save())
  const compare = (from: number) => void navigate({ to: '/workflows/$name/versions', params: { name }, search: { from: String(from), to: 'draft', as: 'text' } })

  useShortcuts([
    { keys: 'Ctrl+s', label: 'Save the draft as a version', always: true, run: save },
    { keys: 'F8', label: 'Next problem', always: true, run: () => nextProblem(false) },
    { keys: 'Shift+F8', label: 'Previous problem', always: true, run: () => nextProblem(true) },
    ...(mayEdit ? [
      { keys: 'Ctrl+z', label: state.history.past.length > 0 ? `Undo: ${state.history.past.at(-1)?.name}` : 'Undo', run: undo },
      { keys: 'Ctrl+Shift+z', label: state.history.future.length > 0 ? `Redo: ${state.history.future[0]?.name}` : 'Redo', run: redo },
    ] : []),
  ])

  const drawn = useDrawing(state.text, name, dialect, pane !== 'source')
  const selectedNode = drawn.text === state.text ? drawn.drawing?.nodes.find((node) => node.id === search.step) : undefined
  const highlight = useMemo(() => {
    if (!selectedNode?.span) return null
    const offsets = new ByteOffsets(state.text)
    return { from: offsets.toUnit(selectedNode.span.start), to: offsets.toUnit(selectedNode.span.end) }
  }, [selectedNode, state.text])
  const followCursor = (position: number) => {
    if (!drawn.drawing || drawn.text !== state.text) return
    const byte = new ByteOffsets(state.text).toByte(position)
    const around = drawn.drawing.nodes.filter((node) => node.span && node.span.start <= byte && byte <= node.span.end)
    const inner = around.sort((left, right) => spanLength(left) - spanLength(right))[0]
    if (inner && inner.id !== search.step) select(inner.id)
  }

  const sourcePane = (
    <SourcePane
      name={name} dialect={dialect} draft={draft} findings={findings} highlight={highlight} readOnly={!mayEdit} handle={source}
      onCursor={followCursor} onFix={fix} onNextProblem={nextProblem} onUndo={undo} onRedo={redo} onSave={save}
    />
  )
  return (
    <>
      <WorkflowHeader
        detail={detail} tab="design" version={state.isEdited ? null : detail.version} problems={problems} note={draftNote(state, mayEdit)}
        beside={<PaneChoice pane={pane} onChange={(next) => void navigate({ search: (old) => ({ ...old, pane: next }) })} isNarrow={isNarrow} />}
        more={designMenu({ detail, draft, state, mayEdit })}
        actions={<>
          {mayEdit && <Button className="not-phone" action shortcut="Ctrl S" disabled={!canSave} onClick={save} title={saveTitle(state, problems.errors)}>Save version {detail.version + 1}</Button>}
          <RunButton detail={detail} label={runLabel(state, problems.errors, detail)} onBefore={canSave ? () => saving.save() : undefined} />
        </>}
      />
      {saving.conflict && (
        <Conflict
          conflict={saving.conflict} isSaving={saving.isSaving} onCompare={() => compare(saving.conflict?.version ?? detail.version)}
          onSaveMine={() => void saving.save(saving.conflict?.version)}
        />
      )}
      {saving.error && <p className="save-error sev-error" role="alert">Couldn’t save: {saving.error.message} <button type="button" className="link" onClick={saving.dismiss}>Dismiss</button></p>}
      <main id="main" className="design-main">
        {sourcePane}
        <Problems
          findings={findings} selected={finding} isPending={check.isPending} isOpen={problemsOpen} onToggle={() => setProblemsOpen(!problemsOpen)}
          note={problems.errors > 0 && state.isEdited ? 'Fix all errors to save this version' : check.error ? `Couldn’t check: ${check.error.message}` : ''}
          onSelect={(next) => showFinding(next, true)} onFix={fix}
        />
      </main>
    </>
  )
}

function PaneChoice({ pane, onChange, isNarrow }: { pane: Pane; onChange: (pane: Pane) => void; isNarrow: boolean }) {
  const options = [{ value: 'canvas' as const, label: 'Canvas' }, { value: 'both' as const, label: 'Both' }, { value: 'source' as const, label: 'Source' }]
  return <Segments label="Panes" value={pane} options={isNarrow ? options.filter((option) => option.value !== 'both') : options} onChange={onChange} />
}

/** Documents that people edit on the canvas open there; the others open beside their source. */
function paneOf(chosen: string | undefined, dialect: string, isNarrow: boolean): Pane {
  const pane = chosen === 'canvas' || chosen === 'both' || chosen === 'source' ? chosen : dialect === 'graph' ? 'canvas' : 'both'
  return isNarrow && pane === 'both' ? 'canvas' : pane
}

function draftNote(state: DraftState, mayEdit: boolean) {
  if (!mayEdit) return state.isEdited ? 'Editing needs a wider window' : null
  if (!state.isEdited) return null
  const where = { yes: 'draft saved in this browser', no: 'saving the draft', failed: 'this browser cannot keep the draft: save a version before you leave' }[state.stored]
  return <>Edited {state.editedAt ? <When at={new Date(state.editedAt).toISOString()} /> : 'now'} · {where}</>
}

function saveTitle(state: DraftState, errors: number): string | undefined {
  if (!state.isEdited) return 'The draft does not differ from the saved version'
  return errors > 0 ? 'Fix all errors to save this version' : undefined
}

function runLabel(state: DraftState, errors: number, detail: WorkflowDetail): string {
  if (!state.isEdited) return 'Run'
  return errors > 0 ? `Run version ${detail.version}` : 'Save and run'
}

function neighbour(findings: Finding[], current: Finding | null, backwards: boolean): Finding | null {
  if (findings.length === 0) return null
  const at = current ? findings.indexOf(current) : -1
  if (at < 0) return (backwards ? findings[findings.length - 1] : findings[0]) ?? null
  return findings[(at + (backwards ? -1 : 1) + findings.length) % findings.length] ?? null
}

function spanLength(node: { span?: { start: number; end: number } | null }): number {
  return node.span ? node.span.end - node.span.start : Infinity
}

function say(verb: string, name: string | null): void {
  announce(name === null ? `Nothing to ${verb.toLowerCase()}.` : `${verb}: ${name}.`)
}
