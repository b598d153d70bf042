/** The step to which a reference or a name at a position leads: the place where its id is written. */
export function definitionAt(text: string, position: number): number | null {
  const name = nameAt(text, position)
  if (!name) return null
  const definition = idPlace(text, name)
  return definition === null || position >= definition && position <= definition + name.length ? null : definition
}

const WORD = /[\w-]/

/** The id in `step.score.output`, or the word itself. */
function nameAt(text: string, position: number): string | null {
  let start = position
  while (start > 0 && /[\w.-]/.test(text[start - 1] ?? '')) start -= 1
  let end = position
  while (end < text.length && WORD.test(text[end] ?? '')) end += 1
  const path = text.slice(start, end)
  const reference = /^(?:step|states)\.([\w-]+)/.exec(text.slice(start, lineEnd(text, start)))
  if (reference?.[1]) return reference[1]
  return path.split('.').pop() || null
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

/** Where `id: name` is written, or the key `name:` of a mapping that has its steps by name. */
function idPlace(text: string, name: string): number | null {
  const escaped = name.replace(/[.*+?^${}()|[\]\\-]/g, '\\$&')
  const id = new RegExp(`(?:^|[\\s{,-])(["']?)id\\1\\s*:\\s*(["']?)(?=${escaped}\\2(?:[\\s,}#]|$))`, 'm').exec(text)
  if (id) return id.index + id[0].length
  const key = new RegExp(`^[ \\t]+(?=${escaped}[ \\t]*:)`, 'm').exec(text)
  return key ? key.index + key[0].length : null
}
