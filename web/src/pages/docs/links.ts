import { BASE_PATH } from '../../api/base.ts'

/** Links to other pages of diagnostics lead to their page here. The server has no other pages of the documentation: those links become text. */
export function withPageLinks(markdown: string): string {
  return markdown
    .replace(/\]\(([a-z0-9_]+)\.md(?:#[\w-]*)?\)/g, `](${BASE_PATH}/docs/$1)`)
    .replace(/\[([^\]]+)\]\(\.\.?\/[^)]*\.md(?:#[\w-]*)?\)/g, '$1')
}
