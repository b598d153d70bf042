import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { runDrawingQuery } from '../../api/queries.ts'
import { Canvas } from '../../graph/Canvas.tsx'

export function RunPage() {
  const { id } = useParams({ from: '/runs/$id' })
  const drawing = useQuery(runDrawingQuery(id)).data
  return <main id="main" className="run">{drawing && <Canvas drawing={drawing} mode="run" label="Run graph" />}</main>
}
