import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { setDraftToImport } from '../pages/workflows/importDraft.ts'

const MAX_BYTES = 4_000_000

/** Dropping a file anywhere imports it: it is checked and shown first; saving is a separate step. */
export function FileDrop() {
  const navigate = useNavigate()
  const [over, setOver] = useState(false)
  useEffect(() => {
    const hasFile = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true
    const drag = (event: DragEvent) => {
      if (!hasFile(event)) return
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false)
    const drop = async (event: DragEvent) => {
      if (!hasFile(event)) return
      event.preventDefault()
      setOver(false)
      const file = event.dataTransfer?.files[0]
      if (!file || file.size > MAX_BYTES) return
      setDraftToImport({ name: file.name.replace(/\.(ya?ml|json)$/i, ''), text: await file.text() })
      void navigate({ to: '/workflows', search: { new: 'import' } })
    }
    window.addEventListener('dragover', drag)
    window.addEventListener('dragleave', leave)
    window.addEventListener('drop', drop)
    return () => {
      window.removeEventListener('dragover', drag)
      window.removeEventListener('dragleave', leave)
      window.removeEventListener('drop', drop)
    }
  }, [navigate])
  return over ? <div className="drop-target" role="status">Drop the file to import a workflow</div> : null
}
