import { useReactFlow, useStore } from '@xyflow/react'
import { Maximize, Minus, Plus } from 'lucide-react'
import type { ReactNode } from 'react'
import { IconButton } from '../ui/Button.tsx'
import { useShortcuts } from '../ui/shortcuts.ts'
import { moveMs } from './useViewport.ts'

/** Zoom buttons, and what the page adds to them. */
export function CanvasTools({ zoom, tools, selected }: { zoom: 'top' | 'bottom' | 'none'; tools: ReactNode; selected: readonly string[] }) {
  const flow = useReactFlow()
  const fit = () => void flow.fitView({ padding: 0.05, maxZoom: 1, duration: moveMs() })
  const fitSelection = () => void flow.fitView({ nodes: selected.map((id) => ({ id })), padding: 0.3, maxZoom: 1, duration: moveMs() })
  useShortcuts([
    { keys: 'Shift+1', label: 'Fit the graph', run: fit },
    { keys: 'Shift+2', label: 'Fit the selection', run: fitSelection },
    { keys: '0', label: 'Zoom to 100%', run: () => void flow.zoomTo(1, { duration: moveMs() }) },
  ])
  const zoomIn = <IconButton key="in" label="Zoom in" icon={Plus} onClick={() => void flow.zoomIn({ duration: moveMs() })} />
  const zoomOut = <IconButton key="out" label="Zoom out" icon={Minus} onClick={() => void flow.zoomOut({ duration: moveMs() })} />
  const fitAll = <IconButton key="fit" label="Fit to view" icon={Maximize} size={14} onClick={fit} />
  return (
    <>
      {zoom === 'top' && <div className="canvas-tools at-top">{zoomIn}{zoomOut}{fitAll}{tools && <><span className="sep" />{tools}</>}</div>}
      {zoom !== 'top' && tools && <div className="canvas-tools at-top">{tools}</div>}
      {zoom === 'bottom' && <div className="canvas-tools at-bottom">{zoomOut}<ZoomLevel />{zoomIn}{fitAll}</div>}
    </>
  )
}

function ZoomLevel() {
  const percent = useStore((state) => Math.round(state.transform[2] * 100))
  return <span className="zoom num">{percent}%</span>
}
