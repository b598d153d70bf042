import { Fragment, type ReactNode } from 'react'

// Paths (a.b, a[0]), JSON strings, lists, numbers and backquoted parts of an engine's sentence are shown as code.
const CODE = /(`[^`]+`|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{[^}]*\}|\b[A-Za-z_$][\w$]*(?:\[\d+\])?(?:\.[\w$-]+(?:\[\d+\])?)+(?:\([^)]*\))?|(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d))/g

/**
 * An engine's sentence with paths and values as code. `whole` adds the capital letter and the full stop of the Why panel.
 * `paths` are the paths that the decision read: those of one word look like any other word.
 */
export function Sentence({ text, whole, paths = NO_PATHS }: { text: string; whole?: boolean; paths?: readonly string[] }) {
  return <>{codeParts(whole ? wholeSentence(text) : text, paths)}</>
}

const NO_PATHS: readonly string[] = []

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

/** A sentence without the marks of its code: for one line of a table, where code would be too loud. */
export function plainText(sentence: string): string {
  return sentence.replace(/`([^`]*)`/g, '$1')
}

function codeParts(text: string, paths: readonly string[]): ReactNode[] {
  return text.split(CODE).map((part, index) => {
    if (index % 2 === 0) return <Fragment key={index}>{wordParts(part, paths)}</Fragment>
    return <code key={index}>{part.startsWith('`') ? part.slice(1, -1) : part}</code>
  })
}

function wordParts(text: string, paths: readonly string[]): ReactNode {
  const words = paths.filter((path) => /^\w+$/.test(path))
  if (words.length === 0) return text
  return text.split(new RegExp(`\\b(${words.join('|')})\\b`)).map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))
}
