const TRIES = 60

/** Moves the focus to a node as soon as it is drawn, if the person is on the canvas and not in a field. */
export function focusNode(id: string): void {
  const attempt = (left: number) => {
    const element = document.querySelector<HTMLElement>(`.canvas .react-flow__node[data-id="${CSS.escape(id)}"]`)
    if (element) element.focus({ preventScroll: true })
    else if (left > 0) requestAnimationFrame(() => attempt(left - 1))
  }
  const active = document.activeElement
  if (!active?.closest('input, textarea, select, .cm-editor, .inspector')) attempt(TRIES)
}
