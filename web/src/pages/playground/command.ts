import type { PlaygroundState } from './samples.ts'

/** The same evaluation in a terminal. */
export function commandOf(state: PlaygroundState, context: string): string {
  const data = compact(context)
  if (state.spelling === 'expression') return `echo ${quoted(data)} | branchpoint eval ${quoted(state.condition)} --dialect ${state.dialect} --context - --explain`
  return `echo ${quoted(compact(state.condition))} > condition.json\necho ${quoted(data)} | branchpoint eval --condition condition.json --dialect ${state.dialect} --context - --explain`
}

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

/** A word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
