/** Where the cursor is in a YAML or JSON document: the path of its mapping, and what is written beside it. */
export interface CursorContext {
  /** Keys and list positions from the root to the mapping or list around the cursor. */
  path: (string | number)[]
  /** Scalars and containers of the same mapping, by key. Containers are `null`. */
  siblings: Record<string, string | null>
  /** The key whose value is at the cursor, or `null` where a key can stand. */
  key: string | null
  /** The part of the key or value before the cursor, and where it begins. */
  typed: string
  from: number
  /** In a list, an item stands at the cursor instead of a key. */
  isItem: boolean
  isFlow: boolean
}

/** The context at a position, or `null` inside comments and texts of several lines. */
export function cursorContext(text: string, position: number): CursorContext | null {
  return isJson(text) ? flowContext(text, text.search(/[{[]/), position, []) : yamlContext(text, position)
}

export function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text)
}

interface Line {
  start: number
  text: string
  /** Columns of the dashes of list items, then of the key. */
  dashes: number[]
  column: number
  key: string | null
  value: string
}

const ENTRY = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#:{}[\],"'&*!|>%@`-][^:#{}[\],]*?|-?[\w$.]+)\s*:(?:\s+(.*))?$/

function readLine(text: string, start: number): Line {
  const dashes: number[] = []
  let column = text.search(/\S|$/)
  while (/^-(\s|$)/.test(text.slice(column))) {
    dashes.push(column)
    column += 1 + text.slice(column + 1).search(/\S|$/)
  }
  const entry = ENTRY.exec(text.slice(column))
  return { start, text, dashes, column, key: entry ? unquote(entry[1] ?? '') : null, value: (entry ? entry[2] ?? '' : text.slice(column)).trim() }
}

function yamlContext(text: string, position: number): CursorContext | null {
  const before = text.slice(0, position).split('\n')
  const currentText = before.pop() ?? ''
  const lineStart = position - currentText.length
  if (/(^|\s)#/.test(currentText.replace(/"[^"]*"|'[^']*'/g, ''))) return null
  const current = readLine(currentText, lineStart)
  const above: Line[] = []
  let start = 0
  for (const line of before) {
    if (/\S/.test(line) && !/^\s*#/.test(line) && !/^---/.test(line)) above.push(readLine(line, start))
    start += line.length + 1
  }
  const outer = enclosing(above, current)
  if (outer === null) return null
  const rest = text.slice(position)
  for (const line of rest.slice(rest.indexOf('\n') + 1).split('\n').slice(0, rest.includes('\n') ? undefined : 0)) {
    if (!/\S/.test(line) || /^\s*#/.test(line)) continue
    const next = readLine(line, 0)
    if (next.column < current.column || next.dashes.length > 0 && (next.dashes[0] ?? 0) < current.column) break
    if (next.column === current.column && next.key !== null) outer.siblings[next.key] ??= scalar(next.value)
  }
  const path = outer.path
  if (current.key !== null) {
    const valueStart = lineStart + currentText.length - /:\s*(.*)$/.exec(currentText.slice(current.column + current.key.length))![1]!.length
    if (/^[{[]/.test(text.slice(valueStart, position))) return flowContext(text, valueStart, position, [...path, current.key])
    return { path, siblings: outer.siblings, key: current.key, typed: text.slice(valueStart, position), from: valueStart, isItem: false, isFlow: false }
  }
  const from = lineStart + current.column
  if (/^[{[]/.test(current.value)) return flowContext(text, from, position, path)
  return { path, siblings: outer.siblings, key: null, typed: text.slice(from, position), from, isItem: current.dashes.length > 0, isFlow: false }
}

/** Walks up the lines by their columns. */
function enclosing(above: Line[], current: Line): { path: (string | number)[]; siblings: Record<string, string | null> } | null {
  const path: (string | number)[] = []
  const siblings: Record<string, string | null> = {}
  let column = current.column
  let inOwnMapping = true
  let listColumn: number | null = null
  const enterList = (dashes: number[]) => {
    for (const dash of [...dashes].reverse()) {
      path.unshift(0)
      column = dash
      listColumn = dash
      inOwnMapping = false
    }
  }
  enterList(current.dashes)
  for (let at = above.length - 1; at >= 0; at--) {
    const line = above[at]
    if (!line) break
    const first = line.dashes[0]
    if (listColumn !== null && (first === listColumn || line.column > listColumn && first === undefined)) continue
    if (listColumn === null && line.column > column) continue
    if (listColumn === null && line.column === column) {
      if (line.key !== null && inOwnMapping) siblings[line.key] ??= scalar(line.value)
      if (first !== undefined) enterList(line.dashes)
      continue
    }
    if (line.column > column || first !== undefined && first > column) continue
    if (line.key === null) continue
    // A key to the left, or at the column of a list's dashes, is the parent.
    if (/^[|>][+-]?\d*$/.test(line.value)) return null
    path.unshift(line.key)
    column = line.column
    listColumn = null
    inOwnMapping = false
    if (first !== undefined) enterList(line.dashes)
  }
  return { path, siblings }
}

interface FlowLevel {
  isMapping: boolean
  key: string | null
  index: number
  siblings: Record<string, string | null>
}

/** Scans JSON, or YAML in braces, from `start` to `position`, and on to the end of the innermost container. */
function flowContext(text: string, start: number, position: number, base: (string | number)[]): CursorContext | null {
  const levels: FlowLevel[] = []
  const top = () => levels[levels.length - 1]
  let token = ''
  let tokenStart = start
  let at = Math.max(0, start)
  let reached: { levels: FlowLevel[]; token: string; tokenStart: number } | null = null
  const finish = () => {
    const level = top()
    if (level?.isMapping && level.key !== null) level.siblings[level.key] = scalar(token.trim())
    token = ''
  }
  while (at <= text.length) {
    if (at === position && !reached) {
      const trimmed = token.trimStart()
      reached = { levels: levels.map((level) => ({ ...level })), token: trimmed, tokenStart: trimmed === '' ? position : tokenStart + token.length - trimmed.length }
      levels.forEach((level, index) => {
        const copy = reached!.levels[index]
        if (copy) copy.siblings = level.siblings
      })
    }
    const character = text[at]
    if (character === undefined) break
    if (character === '"' || character === "'") {
      const end = closingQuote(text, at)
      if (position > at && position < end) {
        reached = { levels: levels.map((level) => ({ ...level })), token: text.slice(at, position), tokenStart: at }
      }
      if (token.trim() === '') {
        token = ''
        tokenStart = at
      }
      token += text.slice(at, end)
      at = end
      continue
    }
    if (character === '{' || character === '[') {
      levels.push({ isMapping: character === '{', key: null, index: 0, siblings: {} })
      token = ''
    } else if (character === '}' || character === ']') {
      if (!reached || reached.levels.length === levels.length) finish()
      levels.pop()
      token = ''
      const level = top()
      if (level?.isMapping && level.key !== null) level.siblings[level.key] = null
      if (reached && levels.length < reached.levels.length) break
      if (levels.length === 0) break
    } else if (character === ',') {
      const level = top()
      if (level?.isMapping && level.key !== null && !(level.key in level.siblings)) finish()
      token = ''
      if (level) {
        level.key = null
        level.index += 1
      }
    } else if (character === ':' && top()?.isMapping && top()?.key === null) {
      const level = top()
      if (level) level.key = unquote(token.trim())
      token = ''
    } else {
      if (token === '') tokenStart = at
      token += character
    }
    at += 1
  }
  if (!reached || reached.levels.length === 0) return null
  const inner = reached.levels[reached.levels.length - 1]!
  const path = [...base]
  reached.levels.slice(0, -1).forEach((level) => path.push(level.isMapping ? level.key ?? '' : level.index))
  if (!inner.isMapping) path.push(inner.index)
  return { path, siblings: inner.siblings, key: inner.isMapping ? inner.key : null, typed: reached.token, from: reached.tokenStart, isItem: !inner.isMapping, isFlow: true }
}

function closingQuote(text: string, start: number): number {
  const quote = text[start]
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\' && quote === '"') at += 1
    else if (text[at] === quote) return at + 1
    else if (text[at] === '\n') return at
  }
  return text.length
}

function unquote(key: string): string {
  return /^(["']).*\1$/.test(key) ? key.slice(1, -1) : key
}

function scalar(value: string): string | null {
  const plain = value.replace(/\s+#.*$/, '').trim()
  if (plain === '' || /^[{[|>&*]/.test(plain)) return null
  return unquote(plain)
}
