import { useMemo, useState } from 'react'
import { plural } from '../../../ui/format.ts'
import { Empty } from '../../../ui/States.tsx'
import { changedPart, diffLines, type DiffRow, foldUnchanged } from '../textDiff.ts'

/** Two texts in two columns. Unchanged parts are folded. */
export function TextComparison({ before, after }: { before: string; after: string }) {
  const blocks = useMemo(() => foldUnchanged(diffLines(before, after)), [before, after])
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  if (before === after) return <Empty title="The texts are the same" />
  return (
    <div className="textdiff" role="group" aria-label="Text of both versions">
      {blocks.map((block, index) =>
        block.kind === 'hidden' && !open.has(index) ? (
          <button key={index} type="button" className="textdiff-fold" onClick={() => setOpen(new Set([...open, index]))}>{plural(block.rows.length, 'unchanged line')}</button>
        ) : (
          block.rows.map((row, at) => <Row key={`${index}-${at}`} row={row} />)
        ),
      )}
    </div>
  )
}

function Row({ row }: { row: DiffRow }) {
  return (
    <div className="textdiff-row">
      <Side side={row.left} other={row.right?.text} look={row.isChanged && row.left ? 'del' : ''} />
      <Side side={row.right} other={row.left?.text} look={row.isChanged && row.right ? 'add' : ''} />
    </div>
  )
}

function Side({ side, other, look }: { side: DiffRow['left']; other: string | undefined; look: '' | 'del' | 'add' }) {
  const part = look !== '' && side && other !== undefined ? changedPart(other, side.text) : null
  return (
    <div className={`textdiff-cell ${look}${side ? '' : ' none'}`}>
      <span className="ln">{side?.line}</span>
      <code>
        {look !== '' && side && <span className="sr">{look === 'del' ? 'removed: ' : 'added: '}</span>}
        {side && part && part.end > part.start ? <>{side.text.slice(0, part.start)}<mark>{side.text.slice(part.start, part.end)}</mark>{side.text.slice(part.end)}</> : side?.text}
      </code>
    </div>
  )
}
