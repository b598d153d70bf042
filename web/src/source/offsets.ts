/**
 * Converts the server's offsets, which count bytes of UTF-8, into positions of a JavaScript text, and back.
 * Only the characters that need more than one byte are remembered.
 */
export class ByteOffsets {
  private readonly units: number[] = []
  private readonly bytes: number[] = []
  private readonly length: number

  constructor(text: string) {
    this.length = text.length
    let byte = 0
    for (let unit = 0; unit < text.length; unit++) {
      const code = text.charCodeAt(unit)
      if (code < 0x80) {
        byte += 1
        continue
      }
      const isPair = code >= 0xd800 && code < 0xdc00 && unit + 1 < text.length
      byte += isPair ? 4 : code < 0x800 ? 2 : 3
      if (isPair) unit += 1
      this.units.push(unit + 1)
      this.bytes.push(byte)
    }
  }

  /** The position in the text of a byte offset; at most the length of the text. */
  toUnit(byte: number): number {
    const at = lastAtMost(this.bytes, byte)
    const unit = at < 0 ? byte : (this.units[at] ?? 0) + byte - (this.bytes[at] ?? 0)
    return Math.max(0, Math.min(unit, this.length))
  }

  toByte(unit: number): number {
    const at = lastAtMost(this.units, unit)
    return at < 0 ? unit : (this.bytes[at] ?? 0) + unit - (this.units[at] ?? 0)
  }
}

function lastAtMost(sorted: number[], value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}
