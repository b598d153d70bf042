import { describe, expect, test } from 'vitest'
import { formatBytes, formatCost, formatCount, formatDuration, formatRemaining, formatWhen, joinNames, plural, shortValue, stepLabel } from '../src/ui/format.ts'

const plain = (text: string) => text.replaceAll('\u202f', ' ')

describe('durations have at most two units', () => {
  test.each([
    [0.4, '< 1 ms'], [643, '643 ms'], [999, '999 ms'], [7832, '7.8 s'], [9999, '9.9 s'], [41_000, '41 s'], [99_000, '1 min 39 s'],
    [60_000, '1 min'], [14_280_000, '3 h 58 min'], [187_200_000, '2 d 4 h'], [-5, '< 1 ms'],
  ])('%d ms is %s', (ms, text) => expect(plain(formatDuration(ms))).toBe(text))
})

test('remaining time shows seconds only below ten minutes', () => {
  expect(plain(formatRemaining(581_000))).toBe('9 min 41 s')
  expect(plain(formatRemaining(14_299_000))).toBe('3 h 58 min')
  expect(plain(formatRemaining(4_000))).toBe('4 s')
})

describe('cost keeps two significant digits below one cent', () => {
  test.each([[3710, '$0.0037'], [98, '$0.000098'], [40_000, '$0.04'], [12_400_000, '$12.40'], [0, '$0'], [240, '$0.00024']])('%d is %s', (micros, text) =>
    expect(formatCost(micros)).toBe(text))
})

test('counts are grouped, and shortened from one million', () => {
  expect(formatCount(2040)).toBe('2,040')
  expect(formatCount(1_200_000)).toBe('1.2 M')
  expect(plural(1, 'run')).toBe('1 run')
  expect(plural(36, 'run')).toBe('36 runs')
})

test('sizes use decimal units', () => {
  expect(formatBytes(1_800_000)).toBe('1.8 MB')
  expect(formatBytes(64_000)).toBe('64 KB')
})

describe('times of lists are relative up to an hour', () => {
  const now = new Date(2026, 10, 15, 21, 17, 6)
  test.each([
    [new Date(2026, 10, 15, 21, 17, 2), '4 s ago'],
    [new Date(2026, 10, 15, 21, 15, 0), '2 min ago'],
    [new Date(2026, 10, 15, 9, 5, 0), '09:05'],
    [new Date(2026, 10, 14, 21, 15, 0), 'yesterday 21:15'],
    [new Date(2026, 5, 12, 21, 15, 0), '12 Jun 21:15'],
    [new Date(2025, 10, 12, 21, 15, 0), '2025-11-12'],
    [new Date(2026, 10, 16, 1, 15, 0), 'tomorrow 01:15'],
  ])('%s', (at, text) => expect(plain(formatWhen(at, now))).toBe(text))
})

test('names, steps and values are written as people read them', () => {
  expect(joinNames(['ada', 'bob', 'eve'])).toBe('ada, bob and eve')
  expect(joinNames(['ada', 'eve'], 'or')).toBe('ada or eve')
  expect(stepLabel({ step: 'explain', iterations: [{ loop: 'each_charge', index: 1 }] })).toBe('each_charge[1].explain')
  expect(shortValue({ a: 'x'.repeat(80) }, 10)).toBe('{"a":"xxx…')
})
