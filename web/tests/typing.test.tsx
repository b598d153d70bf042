// @vitest-environment jsdom
import { act } from 'react'
import { createRoot } from 'react-dom/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { collectTyped, takeTyped } from '../src/app/typeAhead.ts'
import { SearchInput } from '../src/ui/SearchInput.tsx'

const press = (key: string, options: KeyboardEventInit = {}) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...options }))

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true)
})
afterEach(() => {
  vi.useRealTimers()
  document.body.innerHTML = ''
})

test('what is typed while a field loads is kept for it, and not given to the page', () => {
  const page = vi.fn()
  window.addEventListener('keydown', page)
  collectTyped(new Promise(() => {}), () => {})
  for (const key of ['p', 'l', 'x', 'Backspace', 'Enter']) press(key)
  press('r', { ctrlKey: true })
  expect(page).toHaveBeenCalledTimes(1)
  expect(takeTyped()).toBe('pl')
  press('a')
  expect(page).toHaveBeenCalledTimes(2)
  expect(takeTyped()).toBe('')
  window.removeEventListener('keydown', page)
})

test('Escape cancels the collection, and a field that cannot be loaded ends it', async () => {
  const cancel = vi.fn()
  collectTyped(new Promise(() => {}), cancel)
  press('p')
  press('Escape')
  expect(cancel).toHaveBeenCalledOnce()
  expect(takeTyped()).toBe('')
  collectTyped(Promise.reject(new Error('offline')), cancel)
  await Promise.resolve()
  await Promise.resolve()
  expect(press('p')).toBe(true)
})

test('a filter keeps what was typed while its last value was on its way', () => {
  const root = createRoot(document.body.appendChild(document.createElement('div')))
  const reported: string[] = []
  const show = (value: string) => act(() => root.render(<SearchInput label="Find" value={value} onChange={(text) => reported.push(text)} width={100} />))
  const type = (text: string) =>
    act(() => {
      const field = document.querySelector('input')
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field, text)
      field?.dispatchEvent(new Event('input', { bubbles: true }))
    })
  show('')
  for (const text of ['sco', 'score', 'score-t']) {
    type(text)
    act(() => vi.advanceTimersByTime(150))
  }
  type('score-tiers')
  show('sco')
  show('score-t')
  expect(document.querySelector('input')?.value).toBe('score-tiers')
  act(() => vi.advanceTimersByTime(150))
  expect(reported).toEqual(['sco', 'score', 'score-t', 'score-tiers'])
  show('score-tiers')
  show('')
  expect(document.querySelector('input')?.value).toBe('')
  act(() => root.unmount())
})
