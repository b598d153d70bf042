import type { Step } from '../../api/types.ts'
import { showProblem } from '../../ui/problems.ts'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { showToast } from '../../ui/toasts.tsx'
import type { RunProps } from './RunBody.tsx'
import { fetchSteps, type StepFilter } from './traceRequests.ts'
import type { GraphOfRun } from './useGraphOfRun.ts'
import type { Rows } from './useRows.ts'
import { selectedStep } from './useRunView.ts'

/** The single keys of a run page. */
export function useRunShortcuts({ run, store, view, rows, graph, close, follow, togglePanel }: RunProps & {
  rows: Rows
  graph: GraphOfRun
  close: () => void
  follow: () => void
  togglePanel: (part: 'tree' | 'panel') => void
}): void {
  const step = selectedStep(view, store)
  const open = (found: Step | undefined, what: string) => {
    if (!found) return showToast({ text: `No further ${what}.` })
    store.learn([found])
    view.select({ kind: 'step', key: found.key })
  }
  const next = (filter: StepFilter, what: string) => {
    fetchSteps(run.id, { ...filter, after: step?.key, limit: 1 }, null).then((page) => open(page.steps[0], what), showProblem)
  }
  const previousDecision = () => {
    // The pages of a trace lead forward only. Up to 200 decisions before are looked at.
    fetchSteps(run.id, { decisions: true }, null).then((page) => {
      const at = page.steps.findIndex((candidate) => candidate.key === step?.key)
      open(page.steps[(at < 0 ? page.steps.length : at) - 1], 'decision before')
    }, showProblem)
  }
  const move = (by: 1 | -1) => {
    const at = rows.rows.findIndex((row) => row.id === rows.selected)
    for (let index = at + by; index >= 0 && index < rows.rows.length; index += by) {
      const row = rows.rows[index]
      if (row && (row.kind === 'step' || row.kind === 'planned' || row.kind === 'iteration')) return view.selectRow(row)
    }
  }
  const round = (by: 1 | -1) => graph.roundOf(step)?.(by)
  useShortcuts([
    { keys: 'v', label: 'Graph or timeline', run: () => view.setView(view.view === 'graph' ? 'timeline' : 'graph') },
    { keys: 'f', label: 'Follow live updates', run: follow },
    { keys: 'w', label: 'Why', run: () => view.setTab('why') },
    { keys: 'j', label: 'Next step', run: () => move(1) },
    { keys: 'k', label: 'Previous step', run: () => move(-1) },
    { keys: 'n', label: 'Next decision', run: () => next({ decisions: true }, 'decision') },
    { keys: 'Shift+n', label: 'Previous decision', run: previousDecision },
    { keys: 'e', label: 'Next failure', run: () => next({ state: 'failed' }, 'failure') },
    { keys: ',', label: 'Previous iteration', run: () => round(-1) },
    { keys: '.', label: 'Next iteration', run: () => round(1) },
    { keys: '[', label: 'Steps', run: () => togglePanel('tree') },
    { keys: ']', label: 'Panel', run: () => togglePanel('panel') },
    { keys: 'Escape', label: 'Clear the selection', run: close },
  ])
}
