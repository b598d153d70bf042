// @vitest-environment jsdom
import { describe, expect, test } from 'vitest'
import { withPageLinks } from '../src/pages/docs/links.ts'
import { renderMarkdown, renderMarkdownLine } from '../src/ui/Markdown.tsx'

function parse(html: string): HTMLElement {
  const box = document.createElement('div')
  box.innerHTML = html
  return box
}

const HOSTILE = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg/onload=alert(1)>', '<iframe src="https://evil.example"></iframe>', '<style>*{display:none}</style>',
  '<a href="javascript:alert(1)">x</a>', '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))', '[x](java\tscript:alert(1))', '[x](data:text/html,<script>alert(1)</script>)', '[x](vbscript:msgbox)',
  '<javascript:alert(1)>', '![x](https://evil.example/pixel.png)', '![x](x "onerror=alert(1)")', '[x](https://ok.example "\\" onmouseover=alert(1) x=\\"")', '[x](//evil.example)', '[x](/\\evil.example)',
  '`<img src=x onerror=alert(1)>`', '```html\n<script>alert(1)</script>\n```', '| <img src=x onerror=alert(1)> | b |\n|---|---|\n| [x](javascript:1) | <b onclick=alert(1)>y</b> |', '&lt;script&gt;alert(1)&lt;/script&gt;',
  '<form action="https://evil.example"><input name=token></form>', '<meta http-equiv=refresh content="0;url=https://evil.example">', '<!--><img src=x onerror=alert(1)>-->', '[a]: javascript:alert(1)\n[a]',
]

const ALLOWED = new Set(['A', 'P', 'CODE', 'PRE', 'SPAN', 'TABLE', 'THEAD', 'TBODY', 'TR', 'TH', 'TD', 'EM', 'STRONG', 'UL', 'OL', 'LI', 'BLOCKQUOTE', 'H1', 'H2', 'H3', 'BR', 'HR', 'S'])
const ATTRIBUTES = new Set(['class', 'href', 'target', 'rel', 'data-host', 'start'])

describe.each([['pages', renderMarkdown], ['one line', renderMarkdownLine]])('hostile Markdown in %s', (_, render) => {
  test.each(HOSTILE)('%s', (text) => {
    for (const element of parse(render(text)).querySelectorAll('*')) {
      expect(ALLOWED, element.outerHTML).toContain(element.tagName)
      for (const attribute of element.attributes) expect(ATTRIBUTES, element.outerHTML).toContain(attribute.name)
      const href = element.getAttribute('href')
      if (href !== null) expect(href).toMatch(/^(https?:\/\/|mailto:|\/(?![/\\]))/)
    }
  })
})

test('each link to another site shows its host and opens apart', () => {
  const box = parse(renderMarkdown('[your bank](https://bank.example@evil.example/login)'))
  const link = box.querySelector('a')
  expect(box.textContent).toContain('(evil.example)')
  expect([link?.target, link?.rel]).toEqual(['_blank', 'noopener noreferrer nofollow'])
})

test('columns of a table are aligned without inline styles', () => {
  expect(renderMarkdown('| a |\n|--:|\n| 1 |')).toContain('<td class="align-right">1</td>')
})

test('ordinary Markdown is rendered', () => {
  expect(renderMarkdown('**bold** and `code`')).toBe('<p><strong>bold</strong> and <code>code</code></p>\n')
})

test('pages of diagnostics link to each other, and links to other documents become text', () => {
  expect(withPageLinks('See [value_limit](value_limit.md#why) and [policies](../how-to/policies.md).')).toBe('See [value_limit](/docs/value_limit) and policies.')
})
