// Formats of section 7 of the design reference. Everything is computed from the arguments, so the functions can be tested.

const NARROW = '\u202f'

/** `< 1 ms`, `643 ms`, `7.8 s`, `1 min 39 s`, `3 h 58 min`, `2 d 4 h`: at most two units. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return ''
  const value = Math.max(0, ms)
  if (value < 1) return `<${NARROW}1${NARROW}ms`
  if (value < 1000) return `${Math.floor(value)}${NARROW}ms`
  if (value < 10_000) return `${(Math.floor(value / 100) / 10).toFixed(1)}${NARROW}s`
  const seconds = Math.floor(value / 1000)
  if (seconds < 60) return `${seconds}${NARROW}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return two(minutes, 'min', seconds % 60, 's')
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return two(hours, 'h', minutes % 60, 'min')
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  const first = `${large}${NARROW}${largeUnit}`
  return small === 0 ? first : `${first} ${small}${NARROW}${smallUnit}`
}

/** Time left until a deadline: minutes, and seconds below 10 minutes. */
export function formatRemaining(ms: number): string {
  if (ms >= 600_000) return formatDuration(Math.floor(ms / 60_000) * 60_000)
  return formatDuration(Math.max(1000, Math.floor(ms / 1000) * 1000)).replace('.0', '')
}

/** Cost from millionths of a dollar: two significant digits below one cent, then two decimals. */
export function formatCost(micros: number): string {
  const dollars = micros / 1_000_000
  if (dollars === 0) return '$0'
  if (dollars >= 0.01) return `$${dollars.toFixed(2)}`
  const digits = Math.ceil(-Math.log10(dollars)) + 1
  return `$${dollars.toFixed(Math.min(digits, 8)).replace(/0+$/, '')}`
}

/** `2,040`; from one million `1.2 M`. */
export function formatCount(value: number): string {
  if (value >= 1_000_000) return `${trimZero(value / 1_000_000)} M`
  return value.toLocaleString('en-US')
}

function trimZero(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '')
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1_000_000) return `${trimZero(bytes / 1000)} KB`
  if (bytes < 1_000_000_000) return `${trimZero(bytes / 1_000_000)} MB`
  return `${trimZero(bytes / 1_000_000_000)} GB`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Lists: `4 s ago`, `2 min ago` up to an hour, then `21:15`, `yesterday 21:15`, `12 Nov 21:15`, `2025-11-12`. */
export function formatWhen(at: Date, now: Date): string {
  const passed = now.getTime() - at.getTime()
  if (passed < 0) return formatFuture(at, now)
  if (passed < 2000) return 'now'
  if (passed < 60_000) return `${Math.floor(passed / 1000)}${NARROW}s ago`
  if (passed < 3_600_000) return `${Math.floor(passed / 60_000)}${NARROW}min ago`
  const days = dayNumber(now) - dayNumber(at)
  if (days === 0) return clock(at)
  if (days === 1) return `yesterday ${clock(at)}`
  if (at.getFullYear() === now.getFullYear()) return `${at.getDate()} ${MONTHS[at.getMonth()]} ${clock(at)}`
  return isoDay(at)
}

function formatFuture(at: Date, now: Date): string {
  const days = dayNumber(at) - dayNumber(now)
  if (days === 0) return `at ${clock(at)}`
  if (days === 1) return `tomorrow ${clock(at)}`
  return `${at.getDate()} ${MONTHS[at.getMonth()]} ${clock(at)}`
}

function dayNumber(at: Date): number {
  return Math.round(new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime() / 86_400_000)
}

function isoDay(at: Date): string {
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`
}

/** `21:15` */
export function clock(at: Date): string {
  return `${pad(at.getHours())}:${pad(at.getMinutes())}`
}

/** `21:15:19`, on pages of one run. */
export function clockSeconds(at: Date): string {
  return `${clock(at)}:${pad(at.getSeconds())}`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}

/** Tooltip of a time: local time with its offset, and UTC. */
export function fullTime(at: Date): string {
  const offset = -at.getTimezoneOffset()
  const sign = offset < 0 ? '-' : '+'
  const zone = `${sign}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`
  return `${isoDay(at)}T${clockSeconds(at)}${zone} (${at.toISOString()})`
}

/** A step's path as people write it: `each_charge[1].explain`. */
export function stepLabel(step: { step: string; iterations: { loop: string; index: number }[] }): string {
  return [...step.iterations.map((iteration) => `${iteration.loop}[${iteration.index}]`), step.step].join('.')
}

/** One line of JSON, cut to a width, for tables and rows. */
export function shortValue(value: unknown, width = 60): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? JSON.stringify(value) : JSON.stringify(value) ?? ''
  return text.length > width ? `${text.slice(0, width - 1)}…` : text
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** `ada, bob and eve` */
export function joinNames(names: string[], word = 'and'): string {
  if (names.length <= 1) return names[0] ?? ''
  return `${names.slice(0, -1).join(', ')} ${word} ${names[names.length - 1]}`
}
