import './editor/editor.css'
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
import { countProblems, type Finding, useDrawing } from './checks.ts'
import { Conflict } from './Conflict.tsx'
import { DesignArea, type Pane } from './DesignArea.tsx'
import { designMenu } from './designMenu.ts'
import { type Draft, useDraftState } from './draft/draft.ts'
import { draftNote, runLabel, saveTitle } from './draftWords.tsx'
import { focusNode } from './editor/focusNode.ts'
import { RemovalDialog } from './editor/RemovalDialog.tsx'
import { useOperations } from './editor/useOperations.ts'
import { Problems } from './Problems.tsx'
import { RunButton } from './RunButton.tsx'
import { SourcePane } from './SourcePane.tsx'
import { useFindings } from './useFindings.ts'
import { useSave } from './useSave.ts'
import { useSettled } from './useSettled.ts'
import { WorkflowHeader } from './WorkflowHeader.tsx'

/** One document in two views: the source is authoritative, the canvas edits the same text. */
export function DesignView({ detail, draft }: { detail: WorkflowDetail; draft: Draft }) {
  const { name, dialect } = detail
  const navigate = useNavigate({ from: '/workflows/$name' })
  const search = useSearch({ from: '/workflows/$name' })
  const state = useDraftState(draft)
  const saving = useSave(name, draft)
  const me = useQuery(meQuery).data
  const isNarrow = useMedia(NARROW)
  const mayTry = me?.can.try !== false
  const mayEdit = me?.can.edit !== false && !isNarrow
  const pane = paneOf(search.pane, dialect, isNarrow)
  const source = useRef<SourceHandle>(null)
  const preflight = useRef<HTMLDivElement>(null)
  const [problemsOpen, setProblemsOpen] = useState(true)
  const [isWarned, setWarned] = useState(false)
  const drawn = useDrawing(state.text, state.base.text, name, dialect, mayTry)
  const [selected, setSelected] = useSelection(search.step, (step) => void navigate({ search: (old) => ({ ...old, step: step ?? undefined }), replace: true }))
  const operations = useOperations(draft, dialect, drawn.accept, (ids) => {
    setSelected(ids)
    const [first] = ids
    if (first) focusNode(first)
  })

  const showFinding = (finding: Finding, focus: boolean) => {
    if (finding.step) setSelected([finding.step])
    source.current?.reveal(finding.from, focus && pane !== 'canvas')
  }
  const { check, findings, finding, selectFinding, nextProblem, fix, isFresh } = useFindings(draft, state.text, name, dialect, mayTry, showFinding)
  const problems = countProblems(findings)
  const canSave = mayEdit && state.isEdited && isFresh && problems.errors === 0 && !saving.isSaving
  const isConnected = drawn.drawing?.dialect === 'graph'
  const undo = () => say('Undo', draft.undo())
  const redo = () => say('Redo', draft.redo())
  // Right after an edit, saving and running wait for the check of the text.
  const checked = useSettled(isFresh || !check.isPending)
  const latest = useRef({ prepareRun: async (_anyway: boolean): Promise<boolean> => false, save: async (): Promise<boolean> => false })
  const save = async () => {
    await checked()
    await latest.current.save()
  }

  useShortcuts([
    { keys: 'Ctrl+s', label: 'Save the draft as a version', always: true, run: () => void save() },
    { keys: 'F8', label: 'Next problem', always: true, run: () => nextProblem(false) },
    { keys: 'Shift+F8', label: 'Previous problem', always: true, run: () => nextProblem(true) },
    ...(mayEdit ? [
      { keys: 'Ctrl+z', label: state.history.past.length > 0 ? `Undo: ${state.history.past.at(-1)?.name}` : 'Undo', run: undo },
      { keys: 'Ctrl+Shift+z', label: state.history.future.length > 0 ? `Redo: ${state.history.future[0]?.name}` : 'Redo', run: redo },
    ] : []),
  ])

  const offsets = useMemo(() => new ByteOffsets(state.text), [state.text])
  const isCurrent = drawn.text === state.text
  const primary = selected[selected.length - 1]
  const span = isCurrent ? drawn.drawing?.nodes.find((node) => node.id === primary)?.span : undefined
  const highlight = useMemo(() => (span ? { from: offsets.toUnit(span.start), to: offsets.toUnit(span.end) } : null), [span, offsets])
  const selectOnCanvas = (ids: string[], how: { keyboard: boolean }) => {
    setSelected(ids)
    const last = drawn.drawing?.nodes.find((node) => node.id === ids[ids.length - 1])
    if (last?.span && isCurrent) source.current?.reveal(offsets.toUnit(last.span.start), how.keyboard)
    if (how.keyboard && last) setTimeout(() => document.querySelector<HTMLElement>('.inspector h2')?.focus())
  }
  const followCursor = (position: number) => {
    if (!drawn.drawing || !isCurrent) return
    const byte = offsets.toByte(position)
    const around = drawn.drawing.nodes.filter((node) => node.span && node.span.start <= byte && byte <= node.span.end)
    const inner = around.sort((left, right) => spanLength(left) - spanLength(right))[0]
    if (inner && inner.id !== primary) setSelected([inner.id])
  }

  /** Before a run: a graph with a problem shows it first; a draft without errors is saved. */
  const prepareRun = async (anyway: boolean): Promise<boolean> => {
    if (isConnected && findings.length > 0 && !anyway) {
      setWarned(true)
      preflight.current?.focus()
      return false
    }
    // A draft that could not be checked is not left out of the run unnoticed; the list of problems says why.
    if (!canSave) return !(mayEdit && state.isEdited && !isFresh)
    return saving.save()
  }
  const beforeRun = async (anyway = false): Promise<boolean> => {
    await checked()
    return latest.current.prepareRun(anyway)
  }
  latest.current = { prepareRun, save: async () => canSave && saving.save() }
  const runAnyway = async () => {
    if (await beforeRun(true)) await navigate({ to: '.', search: (old) => ({ ...old, run: name }) as never })
  }
  useEffect(() => setWarned(false), [state.text])
  useEffect(() => {
    // A link to a step opens the source at the step.
    if (drawn.drawing && highlight) source.current?.reveal(highlight.from)
  }, [drawn.drawing !== null])

  const sourcePane = (
    <SourcePane
      name={name} dialect={dialect} draft={draft} findings={findings} highlight={highlight} readOnly={!mayEdit} handle={source}
      onCursor={followCursor} onFix={fix} onNextProblem={nextProblem} onUndo={undo} onRedo={redo} onSave={() => void save()}
    />
  )
  return (
    <>
      <WorkflowHeader
        detail={detail} tab="design" version={state.isEdited ? null : detail.version} problems={problems} note={draftNote(state, mayEdit)}
        beside={<PaneChoice pane={pane} onChange={(next) => void navigate({ search: (old) => ({ ...old, pane: next }) })} isNarrow={isNarrow} />}
        more={designMenu({ detail, draft, state, mayEdit })}
        actions={<>
          {mayEdit && <Button className="not-phone" action shortcut="Ctrl S" disabled={!canSave} onClick={() => void save()} title={saveTitle(state, problems.errors)}>Save version {detail.version + 1}</Button>}
          <RunButton detail={detail} label={runLabel(state, problems.errors, detail, isConnected)} onBefore={() => beforeRun()} />
        </>}
      />
      {saving.conflict && (
        <Conflict
          conflict={saving.conflict} isSaving={saving.isSaving} onSaveMine={() => void saving.save(saving.conflict?.version)}
          onCompare={() => void navigate({ to: '/workflows/$name/versions', params: { name }, search: { from: String(saving.conflict?.version), to: 'draft', as: 'text' } })}
        />
      )}
      {saving.error && <p className="save-error sev-error" role="alert">Couldn’t save: {saving.error.message} <button type="button" className="link" onClick={saving.dismiss}>Dismiss</button></p>}
      <main id="main" className="design-main">
        <DesignArea
          pane={pane} source={sourcePane} drawn={drawn} detail={detail} state={state} findings={findings} mayEdit={mayEdit} selected={selected} onSelect={selectOnCanvas}
          perform={operations.perform} onUndo={undo} onRedo={redo}
          preflight={isConnected && pane !== 'source' ? { ref: preflight, onShow: (first) => showFinding(first, false), onRunAnyway: isWarned && problems.errors === 0 ? () => void runAnyway() : null } : null}
        />
        {!(isConnected && pane === 'canvas') && (
          <Problems
            findings={findings} selected={finding} isPending={check.isPending} isOpen={problemsOpen} onToggle={() => setProblemsOpen(!problemsOpen)}
            note={problems.errors > 0 && state.isEdited ? 'Fix all errors to save this version' : check.error ? `Couldn’t check: ${check.error.message}` : ''}
            onSelect={(next) => selectFinding(next, true)} onFix={fix}
          />
        )}
      </main>
      {operations.pending && <RemovalDialog pending={operations.pending} onClose={operations.dismiss} />}
    </>
  )
}

function PaneChoice({ pane, onChange, isNarrow }: { pane: Pane; onChange: (pane: Pane) => void; isNarrow: boolean }) {
  const options = [{ value: 'canvas' as const, label: 'Canvas' }, { value: 'both' as const, label: 'Both' }, { value: 'source' as const, label: 'Source' }]
  return <Segments label="Panes" value={pane} options={isNarrow ? options.filter((option) => option.value !== 'both') : options} onChange={onChange} />
}

/** Documents whose nodes people connect open on the canvas; the others beside their source. */
function paneOf(chosen: string | undefined, dialect: string, isNarrow: boolean): Pane {
  const pane = chosen === 'canvas' || chosen === 'both' || chosen === 'source' ? chosen : dialect === 'graph' ? 'canvas' : 'both'
  return isNarrow && pane === 'both' ? 'canvas' : pane
}

/** The selected steps, the main one last. The address has the main one. */
function useSelection(step: string | undefined, remember: (step: string | null) => void): [readonly string[], (ids: string[]) => void] {
  const [selected, setSelected] = useState<readonly string[]>(step ? [step] : [])
  useEffect(() => {
    if (step && step !== selected[selected.length - 1]) setSelected([step])
  }, [step])
  const choose = (ids: string[]) => {
    setSelected(ids)
    const main = ids[ids.length - 1] ?? null
    if (main !== (step ?? null)) remember(main)
  }
  return [selected, choose]
}

function spanLength(node: { span?: { start: number; end: number } | null }): number {
  return node.span ? node.span.end - node.span.start : Infinity
}

function say(verb: string, name: string | null): void {
  announce(name === null ? `Nothing to ${verb.toLowerCase()}.` : `${verb}: ${name}.`)
}
