import type { ReactNode } from 'react'

/** A place in the source, in bytes. */
export interface SourceSpan {
  start: number
  end: number
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The number of the line at a place in bytes, counted from 1. */
export function lineAt(text: string, byte: number): number {
  return decoder.decode(encoder.encode(text).subarray(0, byte)).split('\n').length
}

/** Lines of a document, with one of them lit and a part of it marked. */
export function CodeLines({ text, dialect, from, to, on, mark }: { text: string; dialect: string; from: number; to: number; on: number | [number, number] | null; mark: SourceSpan | null }) {
  const lines = text.split('\n')
  const shown = lines.slice(from - 1, to)
  const indent = Math.min(...shown.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length), 40)
  const isLit = (line: number) => (Array.isArray(on) ? line >= on[0] && line <= on[1] : line === on)
  let before = encoder.encode(lines.slice(0, from - 1).map((line) => `${line}\n`).join('')).length
  return (
    <div className="code snippet" tabIndex={0} role="region" aria-label={`Lines ${from} to ${Math.min(to, lines.length)}`}>
      {shown.map((line, index) => {
        const start = before
        before += encoder.encode(`${line}\n`).length
        const number = from + index
        return (
          <div key={number} className={`cl${isLit(number) ? ' on' : ''}`}>
            <span className="ln">{number}</span>
            <span className="t">{mark ? marked(line, start, mark, indent) : highlight(line.slice(indent), dialect)}</span>
          </div>
        )
      })}
    </div>
  )
}

/** The line with the part that the pointer is on. Places are bytes, columns are letters. */
function marked(line: string, start: number, mark: SourceSpan, indent: number): ReactNode {
  const bytes = encoder.encode(line)
  const from = Math.max(0, mark.start - start)
  const to = Math.min(bytes.length, mark.end - start)
  if (to <= from) return line.slice(indent)
  const part = (a: number, b: number) => decoder.decode(bytes.subarray(a, b))
  const lead = part(0, from)
  return <>{lead.slice(Math.min(indent, lead.length))}<mark className="found">{part(from, to)}</mark>{part(to, bytes.length)}</>
}

const YAML = /^(\s*(?:- )?)([\w.$@-]+|"[^"]*")(:)(.*)$/
const VALUE = /("(?:[^"\\]|\\.)*"|'[^']*')|(\{\{.*?\}\})|((?<![\w.])-?\d+(?:\.\d+)?(?![\w.]))|(\b(?:true|false|null)\b)|(#.*$)/g
const CLASSES = ['s', 'r', 'n', 'w', 'c']

/** Colours for a few lines; the editor has a real parser. */
function highlight(line: string, dialect: string): ReactNode {
  if (/^\s*(#|\/\/)/.test(line)) return <span className="c">{line}</span>
  const key = YAML.exec(line)
  if (!key) return values(line, dialect)
  return <>{key[1]}<span className="k">{key[2]}</span>{key[3]}{values(key[4] ?? '', dialect)}</>
}

function values(text: string, dialect: string): ReactNode {
  const parts: ReactNode[] = []
  let last = 0
  for (const match of text.matchAll(VALUE)) {
    const kind = match.slice(1).findIndex((group) => group !== undefined)
    parts.push(plain(text.slice(last, match.index), dialect, last), <span key={match.index} className={CLASSES[kind]}>{match[0]}</span>)
    last = match.index + match[0].length
  }
  return <>{parts}{plain(text.slice(last), dialect, last)}</>
}

const PATH = /([A-Za-z_$][\w$]*(?:\.[\w$-]+)+)/g

function plain(text: string, dialect: string, at: number): ReactNode {
  const isWord = dialect !== 'graph' && /^\s+[A-Za-z_][\w -]*\s*$/.test(text)
  if (isWord) return <span key={`p${at}`} className="s">{text}</span>
  return <span key={`p${at}`}>{text.split(PATH).map((part, index) => (index % 2 === 1 ? <span key={index} className="r">{part}</span> : part))}</span>
}
