import { Fragment, type ReactNode } from 'react'

// Paths (a.b, a[0]), JSON strings, lists, numbers and backquoted parts of an engine's sentence are shown as code.
const CODE = /(`[^`]+`|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|\b[A-Za-z_$][\w$]*(?:\[\d+\])?(?:\.[\w$-]+(?:\[\d+\])?)+(?:\([^)]*\))?|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]))/g

/** An engine's sentence with paths and values as code. `whole` adds the capital letter and the full stop of the Why panel. */
export function Sentence({ text, whole }: { text: string; whole?: boolean }) {
  return <>{codeParts(whole ? wholeSentence(text) : text)}</>
}

export function wholeSentence(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  const first = trimmed[0] ?? ''
  const capital = /^[a-z]+(?=[\s,:])/.test(trimmed) && !/^[a-z]+[._]/.test(trimmed) ? first.toUpperCase() + trimmed.slice(1) : trimmed
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}

/** The sentence without its leading "true because": for lists, where the outcome has a mark of its own. */
export function reason(sentence: string | null | undefined): string {
  return (sentence ?? '').replace(/^(true|false) because /, '')
}

function codeParts(text: string): ReactNode[] {
  return text.split(CODE).map((part, index) => {
    if (index % 2 === 0) return <Fragment key={index}>{part}</Fragment>
    return <code key={index}>{part.startsWith('`') ? part.slice(1, -1) : part}</code>
  })
}
