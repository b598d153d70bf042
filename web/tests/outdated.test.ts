// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { compareBuilds, entryScript } from '../src/live/outdated.ts'
import * as online from '../src/ui/online.ts'

const page = (name: string) => `<html><head><script src="/theme.js"></script><script type="module" crossorigin src="/base/assets/index-${name}.js" nonce="1"></script></head></html>`

beforeEach(() => {
  document.head.innerHTML = '<script type="application/json" src="/base/assets/index-OLD.js"></script>'
})
afterEach(() => vi.restoreAllMocks())

test('the entry script of a document is found among others', () => {
  expect(entryScript(page('ABC'))).toBe('/base/assets/index-ABC.js')
})

test.each([['NEW', 1], ['OLD', 0]])('after a reconnect to the build %s, a new version is offered %i times', async (build, times) => {
  const offered = vi.spyOn(online, 'setConnection')
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(page(build))))
  await compareBuilds()
  expect(offered.mock.calls.filter(([change]) => change.outdated)).toHaveLength(times)
})
