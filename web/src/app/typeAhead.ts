// What somebody types right after a shortcut belongs to the field that the shortcut opens, even while that field is still being loaded.

let text = ''
let stop: (() => void) | null = null

/** Collects typed characters until `takeTyped` is called. Gives up if what is being opened cannot be loaded. Escape cancels it. */
export function collectTyped(loading: Promise<unknown>, cancel: () => void): void {
  if (stop !== null) return
  const collect = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
    if (event.key === 'Escape') {
      discard()
      return cancel()
    }
    if (event.key.length === 1) text += event.key
    else if (event.key === 'Backspace') text = text.slice(0, -1)
    else if (event.key !== 'Enter') return
    // The page below does not get it: Enter would press one of its buttons.
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  window.addEventListener('keydown', collect, { capture: true })
  stop = () => window.removeEventListener('keydown', collect, { capture: true })
  loading.catch(discard)
}

/** Ends the collection and returns what was typed. */
export function takeTyped(): string {
  const typed = text
  discard()
  return typed
}

function discard(): void {
  stop?.()
  stop = null
  text = ''
}
