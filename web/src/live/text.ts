/** A text with a piece at its offset. A piece that does not continue the text is left out: new followers get the whole text from the server. */
export function withPiece(known: string, text: string, offset: number): string {
  return offset > known.length ? known : known.slice(0, offset) + text
}
