import { formatDuration } from '../../ui/format.ts'

/** The time that tracks and the ruler show. */
export interface Scale {
  start: number
  end: number
}

export interface Tick {
  /** From 0 to 1. */
  at: number
  label: string
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000,
  10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000, 2_592_000_000, 31_536_000_000,
]

export function fraction(scale: Scale, at: number): number {
  return Math.min(1, Math.max(0, (at - scale.start) / Math.max(1, scale.end - scale.start)))
}

/** Ticks at round durations, so many that their labels do not touch. */
export function ticksOf(scale: Scale, width: number): Tick[] {
  const span = Math.max(1, scale.end - scale.start)
  const most = Math.max(2, Math.floor(width / 46))
  const step = STEPS_MS.find((candidate) => span / candidate <= most) ?? span
  const ticks: Tick[] = []
  for (let at = 0; at < span && ticks.length < 60; at += step) ticks.push({ at: at / span, label: at === 0 ? zero(step) : formatDuration(at).replace(/\.0(?=\D)/, '') })
  return ticks
}

function zero(step: number): string {
  return step < 1000 ? '0\u202fms' : step < 60_000 ? '0\u202fs' : '0'
}
