import { useEffect, useRef } from 'react'

/** A function whose promise resolves as soon as the condition holds, at once if it holds already. */
export function useSettled(isSettled: boolean): () => Promise<void> {
  const state = useRef({ isSettled, waiting: [] as (() => void)[] })
  state.current.isSettled = isSettled
  useEffect(() => {
    if (isSettled) for (const resolve of state.current.waiting.splice(0)) resolve()
  }, [isSettled])
  return () => (state.current.isSettled ? Promise.resolve() : new Promise((resolve) => state.current.waiting.push(resolve)))
}
