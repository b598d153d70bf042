/** `triage`, or `triage-2` if that is in use. */
export function uniqueName(wanted: string, used: readonly string[]): string {
  if (!used.includes(wanted)) return wanted
  for (let number = 2; ; number++) if (!used.includes(`${wanted}-${number}`)) return `${wanted}-${number}`
}

/** Why a name cannot be used, or `null`. */
export function nameProblem(name: string): string | null {
  if (name.trim() === '') return 'The workflow needs a name.'
  // eslint-disable-next-line no-control-regex
  if (/[/\\\u0000-\u001f\u007f]/.test(name) || name === '.' || name === '..') return 'A name has no slashes and no control characters.'
  return new TextEncoder().encode(name).length > 200 ? 'A name has at most 200 bytes.' : null
}

/** The text of a template under another name. */
export function named(text: string, template: string, name: string): string {
  const written = /^[\w.-]+$/.test(name) && !/^(\d|true$|false$|null$|~|-)/.test(name) ? name : JSON.stringify(name)
  return text
    .replace(new RegExp(`^name: ${escaped(template)}$`, 'm'), () => `name: ${written}`)
    .replace(new RegExp(`("name"\\s*:\\s*)"${escaped(template)}"`), (_, key: string) => key + JSON.stringify(name))
    .replaceAll(`${template}.yaml`, `${name}.yaml`)
    .replaceAll(`${template}.json`, `${name}.json`)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** The name that a document gives itself. */
export function ownName(text: string): string | null {
  const yaml = /^name:\s*(?:"([^"]*)"|'([^']*)'|([^\s#].*?))\s*(?:#.*)?$/m.exec(text)
  const json = /^\s*\{/.test(text) ? /^\s{0,4}"name"\s*:\s*"([^"]*)"/m.exec(text) : null
  return json?.[1] ?? yaml?.[1] ?? yaml?.[2] ?? yaml?.[3]?.trim() ?? null
}
