import { Fragment, type ReactNode } from 'react'

// Strings, numbers, words of the language and paths, in this order: a path may contain digits, a string anything.
const TOKEN = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|((?<![\w.$])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))|(\b(?:true|false|null|nil|and|or|not|in)\b)|([A-Za-z_$@][\w$]*(?:\[[^\]\s]*\])?(?:\.[\w$-]+(?:\[[^\]\s]*\])?)+)/g

const CLASSES = ['s', 'n', 'w', 'r']

/** A condition with its strings, numbers, words and references coloured. */
export function ConditionText({ text }: { text: string }) {
  const parts: ReactNode[] = []
  let last = 0
  for (const match of text.matchAll(TOKEN)) {
    const kind = match.slice(1).findIndex((group) => group !== undefined)
    parts.push(<Fragment key={`t${last}`}>{text.slice(last, match.index)}</Fragment>, <span key={match.index} className={CLASSES[kind]}>{match[0]}</span>)
    last = match.index + match[0].length
  }
  return <>{parts}{text.slice(last)}</>
}
