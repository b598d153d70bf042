import { useQueryClient } from '@tanstack/react-query'
import { ArrowUp } from 'lucide-react'
import { useEffect, useSyncExternalStore } from 'react'
import { newRuns } from '../../live/patch.ts'
import { plural } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'

/** Runs that started since the list was loaded. They slide in only where the list is at its top and the pointer is elsewhere. */
export function useNewRuns(isFirstPage: boolean, onShow?: () => void): [count: number, show: () => void] {
  const client = useQueryClient()
  const count = useSyncExternalStore(newRuns.subscribe, newRuns.count)
  const show = () => {
    newRuns.clear()
    onShow?.()
    void client.invalidateQueries({ queryKey: ['runs'] })
  }
  useEffect(() => {
    if (count === 0) return
    const scroller = document.querySelector('.page-scroll')
    if (isFirstPage && (scroller?.scrollTop ?? 0) < 8 && !document.querySelector('.runs-table:hover')) show()
  }, [count, isFirstPage])
  return [count, show]
}

export function NewRunsPill({ count, onShow }: { count: number; onShow: () => void }) {
  if (count === 0) return null
  return <button type="button" className="newrows" onClick={onShow}><Icon of={ArrowUp} size={13} />{plural(count, 'new run')}</button>
}
