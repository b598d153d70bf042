import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS = 256

/** The same picture with at most 256 colours, which makes screenshots three times smaller. Reads what browsers write: 8 bits, no interlacing. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png)
  const palette = commonColours(pixels)
  const index = new Map(palette.map((colour, position) => [colour, position]))
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const colour = pixels[y * width + x] ?? 0
      let position = index.get(colour)
      if (position === undefined) {
        position = nearest(palette, colour)
        index.set(colour, position)
      }
      rows[y * (width + 1) + 1 + x] = position
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('PLTE', colours), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))])
}

function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const parts: Buffer[] = []
  let [width, height, channels] = [0, 0, 0]
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const data = png.subarray(at + 8, at + 8 + length)
    if (type === 'IHDR') {
      ;[width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)]
      const [depth, kind, , , interlaced] = data.subarray(8)
      channels = kind === 6 ? 4 : kind === 2 ? 3 : 0
      if (depth !== 8 || channels === 0 || interlaced !== 0) throw new Error('the picture is not an 8-bit RGB image without interlacing')
    } else if (type === 'IDAT') parts.push(data)
    at += length + 12
  }
  const bytes = unfilter(inflateSync(Buffer.concat(parts)), width * channels, height, channels)
  const pixels = new Uint32Array(width * height)
  for (let i = 0; i < pixels.length; i++) {
    const at = i * channels
    pixels[i] = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
  }
  return { width, height, pixels }
}

/** Undoes the filter of each row, which stores differences from its neighbours. */
function unfilter(data: Buffer, stride: number, height: number, step: number): Uint8Array {
  const out = new Uint8Array(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)]
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x
      const left = x >= step ? (out[at - step] ?? 0) : 0
      const up = y > 0 ? (out[at - stride] ?? 0) : 0
      const corner = x >= step && y > 0 ? (out[at - stride - step] ?? 0) : 0
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter ?? 0] ?? 0
      out[at] = ((data[y * (stride + 1) + 1 + x] ?? 0) + predicted) & 255
    }
  }
  return out
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

/** Colours that no chosen one is close to, so that rare text in a colour of its own keeps it. */
const FAR = 40 * 40

/** Frequent colours that differ from each other, then the most frequent of the others, which are shades at the edges of letters. */
function commonColours(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const byCount = [...counts].sort((left, right) => right[1] - left[1]).map(([colour]) => colour)
  const chosen = new Set<number>()
  for (const colour of byCount) {
    if (chosen.size >= COLOURS / 2) break
    if ([...chosen].every((other) => distance(other, colour) >= FAR)) chosen.add(colour)
  }
  for (const colour of byCount) {
    if (chosen.size >= COLOURS) break
    chosen.add(colour)
  }
  return [...chosen]
}

function distance(left: number, right: number): number {
  const [red, green, blue] = [(left >> 16) - (right >> 16), ((left >> 8) & 255) - ((right >> 8) & 255), (left & 255) - (right & 255)]
  return red * red + green * green + blue * blue
}

function nearest(palette: number[], colour: number): number {
  let best = 0
  for (const [position, other] of palette.entries()) if (distance(other, colour) < distance(palette[best] ?? 0, colour)) best = position
  return best
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length, 0)
  body.copy(out, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}
