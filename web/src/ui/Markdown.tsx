import MarkdownIt from 'markdown-it'
import { useMemo } from 'react'

// Models and users write this text: no HTML, no images, only http(s) and mail links, each with its host in view.
const renderer = new MarkdownIt({ html: false, linkify: false, typographer: false }).disable('image')
// A path of this site starts with one slash: two, or a backslash, would name another host.
renderer.validateLink = (url) => /^(https?:|mailto:|\/(?![/\\]))/i.test(url.trim())
renderer.renderer.rules.link_open = (tokens, index) => {
  const href = String(tokens[index]?.attrGet('href') ?? '')
  const host = /^https?:/i.test(href) ? hostOf(href) : ''
  const escape = renderer.utils.escapeHtml
  const outside = host !== '' ? ` target="_blank" rel="noopener noreferrer nofollow" data-host="${escape(host)}"` : ''
  return `<a class="link" href="${escape(href)}"${outside}>`
}
renderer.renderer.rules.link_close = (tokens, index) => {
  for (let open = index - 1; open >= 0; open--) {
    if (tokens[open]?.type !== 'link_open') continue
    const host = hostOf(String(tokens[open]?.attrGet('href') ?? ''))
    return host === '' ? '</a>' : `</a> <span class="muted small">(${renderer.utils.escapeHtml(host)})</span>`
  }
  return '</a>'
}

// The alignment of a column is a class: the security policy forbids inline styles.
renderer.renderer.rules.th_open = renderer.renderer.rules.td_open = (tokens, index, options, _, self) => {
  const token = tokens[index]
  const align = /center|right/.exec(String(token?.attrGet('style') ?? ''))?.[0]
  if (token) token.attrs = align ? [['class', `align-${align}`]] : null
  return self.renderToken(tokens, index, options)
}

function hostOf(url: string): string {
  try {
    return /^https?:/i.test(url) ? new URL(url).host : ''
  } catch {
    return ''
  }
}

export function renderMarkdown(text: string): string {
  return renderer.render(text)
}

/** Markdown of one line, such as the question of an approval. */
export function renderMarkdownLine(text: string): string {
  return renderer.renderInline(text)
}

export function MarkdownLine({ text }: { text: string }) {
  const html = useMemo(() => renderMarkdownLine(text), [text])
  return <span className="markdown-line" dangerouslySetInnerHTML={{ __html: html }} />
}

export default function Markdown({ text, className = '' }: { text: string; className?: string }) {
  const html = useMemo(() => renderMarkdown(text), [text])
  return <div className={`markdown ${className}`} dangerouslySetInnerHTML={{ __html: html }} />
}
