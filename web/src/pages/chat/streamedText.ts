import { useEffect, useRef, useState } from 'react'
import { onLiveEvents } from '../../live/connect.ts'
import { withPiece } from '../../live/text.ts'

/** The text of the reply that streams now, from the events of the session's run. */
export function useStreamedText(run: string | null, isBusy: boolean): string {
  const [text, setText] = useState('')
  const key = useRef<string | null>(null)
  useEffect(() => {
    if (!isBusy) {
      key.current = null
      setText('')
    }
  }, [isBusy])
  useEffect(() => {
    if (run === null) return
    return onLiveEvents((events) => {
      for (const { event, data } of events) {
        const piece = data as { run?: string; key: string; text: string; offset: number }
        if (event !== 'text' || piece.run !== run) continue
        // Every model call has a text of its own; the next one replaces it.
        const isNext = piece.key === key.current
        key.current = piece.key
        setText((before) => withPiece(isNext ? before : '', piece.text, piece.offset))
      }
    })
  }, [run])
  return text
}
