import { useQuery } from '@tanstack/react-query'
import { LocateFixed } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import { approvalsQuery } from '../../api/queries.ts'
import type { Drawing, RunDetail } from '../../api/types.ts'
import { Canvas } from '../../graph/Canvas.tsx'
import { IconButton, Segments } from '../../ui/Button.tsx'
import { Resizer, usePanelWidth } from '../../ui/Resizer.tsx'
import { Failed } from '../../ui/States.tsx'
import { FailedRun } from './FailedRun.tsx'
import { RunInput } from './RunInput.tsx'
import { StepPanel } from './StepPanel.tsx'
import { Steps } from './Steps.tsx'
import { Timeline } from './Timeline.tsx'
import type { TraceStore } from './traceStore.ts'
import { useGraphOfRun } from './useGraphOfRun.ts'
import { useRunShortcuts } from './useRunShortcuts.ts'
import { useRows } from './useRows.ts'
import { firstSelection, type RunView, selectedStep } from './useRunView.ts'
import type { Width } from './useWidth.ts'

export interface RunProps {
  run: RunDetail
  drawing: Drawing | null
  drawingError: unknown
  store: TraceStore
  version: number
  view: RunView
}

const TREE = { initial: 304, least: 260, most: 480 }
const PANEL = { initial: 480, least: 380, most: 720 }
const TIMELINE_PANEL = 440

/** Tree, graph and panel beside each other, or the timeline and the panel. */
export function RunBody({ width, ...shared }: RunProps & { width: Width }) {
  const { run, drawing, drawingError, store, version, view } = shared
  const approvals = useQuery({ ...approvalsQuery('all'), enabled: run.status === 'waiting_people' }).data?.items
  const graph = useGraphOfRun({ run, drawing, store, version, view, approvals })
  const rows = useRows({ ...shared, chosen: graph.chosen })
  const [treeWidth, setTreeWidth] = usePanelWidth('run-steps', TREE.initial, TREE.least, TREE.most)
  const [graphPanel, setGraphPanel] = usePanelWidth('run-panel', PANEL.initial, PANEL.least, PANEL.most)
  const [timelinePanel, setTimelinePanel] = usePanelWidth('timeline-panel', TIMELINE_PANEL, PANEL.least, PANEL.most)
  const [panelWidth, panelInitial, setPanelWidth] = view.view === 'timeline' ? [timelinePanel, TIMELINE_PANEL, setTimelinePanel] : [graphPanel, PANEL.initial, setGraphPanel]
  const [hidden, setHidden] = useState({ tree: false, panel: false })
  const [side, setSide] = useState<'steps' | 'graph'>('graph')
  const [byKeyboard, setByKeyboard] = useState(false)
  const [follows, setFollows] = useState(store.isOngoing)
  const step = selectedStep(view, store)
  const node = drawing?.nodes.find((other) => other.title === (step?.step ?? view.planned?.title))
  const hasPanel = view.selected !== null && !hidden.panel
  const close = () => {
    // The focus goes back to the row from which the panel was opened.
    if (document.activeElement?.closest('.panel')) document.querySelector<HTMLElement>('[role="tree"]')?.focus()
    view.select(null)
  }
  const openKey = (key: string) => {
    setByKeyboard(false)
    view.select({ kind: 'step', key })
  }
  const toggle = (part: 'tree' | 'panel') => setHidden((before) => ({ ...before, [part]: !before[part] }))
  useFirstSelection(run, store, view, width)
  useRunShortcuts({ ...shared, rows, graph, close, follow: () => setFollows(!follows), togglePanel: toggle })
  const selectedNodes = useMemo(() => (node ? [node.id] : []), [node])

  const open = (row: Parameters<RunView['selectRow']>[0], how: { keyboard: boolean }) => {
    setByKeyboard(how.keyboard)
    setHidden((before) => ({ ...before, panel: false }))
    if (row.kind === 'group') rows.toggle(row, !row.open)
    else if (row.kind === 'more') void store.load(row.of)
    else {
      if (row.kind === 'iteration') graph.choose(row.loop.step, row.record.index)
      view.selectRow(row)
    }
  }
  const panel = hasPanel && (
    <StepPanel run={run} view={view} store={store} step={step} node={node} isLost={rows.isLost} onClose={close} onRound={graph.roundOf(step)} onOpen={openKey} takesFocus={byKeyboard} />
  )
  const panelEdge = hasPanel && <Resizer label="Width of the panel" side="right" width={panelWidth} initial={panelInitial} onResize={setPanelWidth} />
  const columns = { '--tree-width': `${treeWidth}px`, '--panel-width': `${panelWidth}px` } as React.CSSProperties
  if (view.view === 'timeline') {
    return (
      <div className={`trace${hasPanel ? '' : ' no-panel'} width-${width}`} style={columns}>
        <Timeline {...shared} rows={rows} graph={graph} onOpen={open} />
        {panelEdge}{panel}
      </div>
    )
  }
  const showsTree = width === 'narrow' ? side === 'steps' : !hidden.tree
  const showsGraph = width !== 'narrow' || side === 'graph'
  return (
    <div className={`run${hasPanel ? '' : ' no-panel'}${showsTree ? '' : ' no-tree'}${showsGraph ? '' : ' no-graph'} width-${width}`} style={columns}>
      {width === 'narrow' && <div className="run-sides"><Segments label="Show" value={side} onChange={setSide} options={[{ value: 'steps', label: 'Steps' }, { value: 'graph', label: 'Graph' }]} /></div>}
      {showsTree && <Steps {...shared} rows={rows} graph={graph} onOpen={open}><RunInput run={run} /></Steps>}
      {showsTree && showsGraph && <Resizer label="Width of the steps" side="left" width={treeWidth} initial={TREE.initial} onResize={setTreeWidth} />}
      {showsGraph && (
        <div className="graph-side">
          {run.status === 'failed' && <FailedRun run={run} store={store} onOpen={openKey} />}
          {drawing && graph.states ? (
            <Canvas
              drawing={drawing} mode="run" label="Run graph" states={graph.states} frames={graph.frames} onIteration={graph.choose} selected={selectedNodes}
              onSelect={(id, { keyboard }) => {
                setByKeyboard(keyboard)
                if (id === null) close()
                else view.selectNode(id, graph.chosen)
              }}
              follow={follows ? graph.newest : null} onPan={() => setFollows(false)}
              tools={store.isOngoing && <IconButton label="Follow live updates" icon={LocateFixed} aria-pressed={follows} onClick={() => setFollows(!follows)} />}
            />
          ) : (
            <section className="canvas" aria-label="Run graph">{drawingError !== null && <Failed what="the graph" error={drawingError} />}</section>
          )}
        </div>
      )}
      {panelEdge}{panel}
    </div>
  )
}

/** Opens the reason of the last decision, or the failed step, where there is room for it. */
function useFirstSelection(run: RunDetail, store: TraceStore, view: RunView, width: Width): void {
  const [isDone, setDone] = useState(view.selected !== null)
  const step = firstSelection(run)
  const known = step === null ? undefined : store.executions(step).filter((execution) => execution.status !== 'skipped').at(-1)
  useEffect(() => {
    if (isDone || width !== 'wide') return
    if (view.selected !== null) setDone(true)
    else if (known) {
      setDone(true)
      view.select({ kind: 'step', key: known.key })
    }
  }, [isDone, known?.key, width])
}
