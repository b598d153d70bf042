import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { withPalette } from '../e2e/png.ts'

const chunk = (type: string, data: Buffer) => {
  const body = Buffer.concat([Buffer.from(type), data])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length)
  body.copy(out, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}

it('a screenshot keeps its colours when it gets a palette, under every filter', () => {
  const [red, blue] = [[200, 0, 0], [0, 0, 200]]
  // Three rows of two pixels: without a filter, as differences to the left, and as differences to the row above.
  const rows = [[0, ...red!, ...blue!], [1, ...red!, 56, 0, 200], [2, 0, 0, 0, 0, 0, 0]].map((row) => Buffer.from(row))
  const header = Buffer.from([0, 0, 0, 2, 0, 0, 0, 3, 8, 2, 0, 0, 0])
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.concat(rows))), chunk('IEND', Buffer.alloc(0))])
  const small = withPalette(png)
  const part = (type: string) => {
    const at = small.indexOf(type)
    return small.subarray(at + 4, at + 4 + small.readUInt32BE(at - 4))
  }
  const palette = [...part('PLTE')]
  const pixels = [...inflateSync(part('IDAT'))].filter((_, index) => index % 3 !== 0)
  expect(part('IHDR')[9]).toBe(3)
  expect(pixels.map((index) => palette.slice(index * 3, index * 3 + 3))).toEqual([red, blue, red, blue, red, blue])
})
