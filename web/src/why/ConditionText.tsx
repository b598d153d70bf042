import { Fragment } from 'react'

const TOKEN = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<![\w.])(-?\d+(?:\.\d+)?)(?![\w.])/g

/** The text of a condition or of JSON, with strings and numbers in their colours. */
export function ConditionText({ text }: { text: string }) {
  return text.split(TOKEN).map((part, index) => {
    if (part === undefined || part === '') return null
    const kind = index % 3
    return kind === 0 ? <Fragment key={index}>{part}</Fragment> : <span key={index} className={kind === 1 ? 's' : 'n'}>{part}</span>
  })
}
