/** A line of a two-column comparison. `null` where the other side has no counterpart. */
export interface DiffRow {
  left: { line: number; text: string } | null
  right: { line: number; text: string } | null
  isChanged: boolean
}

// Beyond this the middle is shown as removed and added as a whole, because a comparison costs the product of both lengths.
const MAX_CELLS = 4_000_000

/** Compares two texts line by line. Lines between two equal ones are paired in order. */
export function diffLines(before: string, after: string): DiffRow[] {
  const left = before.split('\n')
  const right = after.split('\n')
  let start = 0
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1
  let end = 0
  while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1
  const rows: DiffRow[] = []
  const same = (from: number, to: number, offset: number) => {
    for (let at = from; at < to; at++) rows.push({ left: { line: at + 1, text: left[at] ?? '' }, right: { line: at + 1 + offset, text: right[at + offset] ?? '' }, isChanged: false })
  }
  same(0, start, 0)
  let removed: number[] = []
  let added: number[] = []
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      const [l, r] = [removed[at], added[at]]
      rows.push({ left: l === undefined ? null : { line: l + 1, text: left[l] ?? '' }, right: r === undefined ? null : { line: r + 1, text: right[r] ?? '' }, isChanged: true })
    }
    removed = []
    added = []
  }
  for (const [l, r] of matches(left.slice(start, left.length - end), right.slice(start, right.length - end))) {
    if (l !== null && r !== null) {
      flush()
      rows.push({ left: { line: start + l + 1, text: left[start + l] ?? '' }, right: { line: start + r + 1, text: right[start + r] ?? '' }, isChanged: false })
    } else if (l !== null) removed.push(start + l)
    else if (r !== null) added.push(start + r)
  }
  flush()
  same(left.length - end, left.length, right.length - left.length)
  return rows
}

/** The longest common subsequence as pairs; one side is `null` for a line without counterpart. */
function matches(left: string[], right: string[]): [number | null, number | null][] {
  const [rows, columns] = [left.length, right.length]
  if (rows * columns > MAX_CELLS) return [...left.map((_, at): [number, null] => [at, null]), ...right.map((_, at): [null, number] => [null, at])]
  const lengths = new Uint32Array((rows + 1) * (columns + 1))
  const at = (row: number, column: number) => row * (columns + 1) + column
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      lengths[at(row, column)] = left[row] === right[column]
        ? (lengths[at(row + 1, column + 1)] ?? 0) + 1
        : Math.max(lengths[at(row + 1, column)] ?? 0, lengths[at(row, column + 1)] ?? 0)
    }
  }
  const found: [number | null, number | null][] = []
  let [row, column] = [0, 0]
  while (row < rows || column < columns) {
    if (row < rows && column < columns && left[row] === right[column]) found.push([row++, column++])
    else if (row < rows && (column === columns || (lengths[at(row + 1, column)] ?? 0) >= (lengths[at(row, column + 1)] ?? 0))) found.push([row++, null])
    else found.push([null, column++])
  }
  return found
}

/** Runs of unchanged rows, of which only the ones next to a change are shown. */
export type DiffBlock = { kind: 'rows'; rows: DiffRow[] } | { kind: 'hidden'; rows: DiffRow[] }

export function foldUnchanged(rows: DiffRow[], context = 3): DiffBlock[] {
  const isNear = new Array<boolean>(rows.length).fill(false)
  rows.forEach((row, at) => {
    if (!row.isChanged) return
    for (let near = Math.max(0, at - context); near <= Math.min(rows.length - 1, at + context); near++) isNear[near] = true
  })
  const blocks: DiffBlock[] = []
  rows.forEach((row, at) => {
    const kind = isNear[at] ? 'rows' : 'hidden'
    const last = blocks[blocks.length - 1]
    if (last?.kind === kind) last.rows.push(row)
    else blocks.push({ kind, rows: [row] })
  })
  return blocks
}

/** The part of a text that differs from another: for marks inside a changed line. */
export function changedPart(before: string, after: string): { start: number; end: number } {
  let start = 0
  const limit = Math.min(before.length, after.length)
  while (start < limit && before[start] === after[start]) start += 1
  let end = 0
  while (end < limit - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1
  return { start, end: after.length - end }
}
