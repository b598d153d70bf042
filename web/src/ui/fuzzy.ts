/** How well a text matches letters typed in order: higher is better, `null` is no match. Word starts and runs of letters count more. */
export function fuzzyScore(typed: string, text: string): number | null {
  const letters = typed.toLowerCase().replace(/\s+/g, ' ').trim()
  const lower = text.toLowerCase()
  const whole = lower.indexOf(letters)
  if (whole >= 0) return 100 - whole + (whole === 0 ? 50 : 0)
  let score = 0
  let from = 0
  let streak = 0
  for (const letter of letters.replaceAll(' ', '')) {
    const at = lower.indexOf(letter, from)
    if (at < 0) return null
    streak = at === from && from > 0 ? streak + 1 : 0
    score += 1 + streak * 2 + (at === 0 || /[\s_\-./]/.test(lower[at - 1] ?? '') ? 3 : 0)
    from = at + 1
  }
  return score - lower.length / 50
}
