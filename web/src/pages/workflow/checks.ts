import { useEffect, useRef, useState } from 'react'
import { get, Problem, request, segment } from '../../api/client.ts'
import type { CheckResult, Diagnostic, Drawing, DrawingNode } from '../../api/types.ts'
import { ByteOffsets } from '../../source/offsets.ts'
import { useOnline } from '../../ui/online.ts'
import { asConnections } from './editor/connections.ts'
import { postWithFields } from './withFields.ts'

const CHECK_AFTER_MS = 200
const DRAW_AFTER_MS = 150

export interface Checked {
  /** The text that was checked. */
  text: string
  result: CheckResult
}

export interface CheckState {
  checked: Checked | null
  /** A newer text is being checked. */
  isPending: boolean
  error: Problem | null
}

/** The problems of a text, from the server, 200 ms after the last keystroke. Earlier requests are cancelled. */
export function useCheck(text: string, name: string | undefined, dialect: string | undefined, isAllowed = true): CheckState {
  const [state, setState] = useState<CheckState>({ checked: null, isPending: true, error: null })
  const isFirst = useRef(true)
  const isOnline = useOnline()
  useEffect(() => {
    if (!isAllowed) return setState({ checked: null, isPending: false, error: null })
    const controller = new AbortController()
    setState((old) => ({ ...old, isPending: true }))
    const timer = setTimeout(() => {
      request<CheckResult>('POST', '/check', { body: { text, name, dialect }, signal: controller.signal }).then(
        (result) => !controller.signal.aborted && setState({ checked: { text, result }, isPending: false, error: null }),
        (error: unknown) => !controller.signal.aborted && setState((old) => ({ ...old, isPending: false, error: error instanceof Problem ? error : null })),
      )
    }, isFirst.current ? 0 : CHECK_AFTER_MS)
    isFirst.current = false
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text, name, dialect, isOnline, isAllowed])
  return state
}

/** A node with what the editor needs beside its picture. */
export type DesignNode = DrawingNode & {
  /** Where the author placed it. */
  x?: number | null
  y?: number | null
  /** The step's own fields, without the steps inside of it. */
  fields?: Record<string, unknown> | null
}

export interface DesignDrawing extends Drawing {
  nodes: DesignNode[]
}

export interface DrawState {
  drawing: DesignDrawing | null
  /** The text of the drawing. */
  text: string | null
  /** The text cannot be drawn at the moment: the drawing is the last valid one. */
  isStale: boolean
  error: Problem | null
}

/**
 * The drawing of a text, 150 ms after the last keystroke. While a text cannot be drawn, the last drawing stays, at first that of the saved version.
 * People who may only read see the drawing of the version.
 */
export function useDrawing(text: string, base: string, name: string, dialect: string, mayTry: boolean): DrawState & { accept: (text: string, drawing: DesignDrawing) => void } {
  const [state, setState] = useState<DrawState>({ drawing: null, text: null, isStale: false, error: null })
  const known = useRef<string | null>(null)
  const isOnline = useOnline()
  const accept = (drawn: string, accepted: DesignDrawing) => {
    known.current = drawn
    setState({ drawing: asConnections(accepted), text: drawn, isStale: false, error: null })
  }
  const keepLast = (error: unknown) => {
    setState((old) => ({ ...old, isStale: true, error: error instanceof Problem ? error : null }))
    if (known.current !== null || !mayTry) return
    known.current = base
    draw(base, name, dialect).then((drawing) => setState((old) => old.drawing ? old : { ...old, drawing: asConnections(drawing), text: base, isStale: true }), () => (known.current = null))
  }
  useEffect(() => {
    if (known.current === text) {
      setState((old) => (old.isStale && old.text === text ? { ...old, isStale: false, error: null } : old))
      return
    }
    let isCurrent = true
    const timer = setTimeout(() => {
      const drawn = mayTry ? draw(text, name, dialect) : get<DesignDrawing>(`/workflows/${segment(name)}/drawing`)
      drawn.then(
        (drawing) => isCurrent && accept(text, drawing),
        (error: unknown) => isCurrent && keepLast(error),
      )
    }, known.current === null ? 0 : DRAW_AFTER_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text, name, isOnline, mayTry])
  return { ...state, accept }
}

function draw(text: string, name: string, dialect: string): Promise<DesignDrawing> {
  return postWithFields<DesignDrawing>('/drawing', { text, name, dialect })
}

export function countProblems(diagnostics: Diagnostic[]): { errors: number; warnings: number } {
  const errors = diagnostics.filter((diagnostic) => diagnostic.severity === 'error').length
  return { errors, warnings: diagnostics.length - errors }
}

/** A finding with its place in the text as JavaScript counts it. */
export interface Finding extends Diagnostic {
  from: number
  to: number
}

/** Findings sorted by their place in the document. */
export function findingsOf(checked: Checked | null): Finding[] {
  if (!checked) return []
  const offsets = new ByteOffsets(checked.text)
  return checked.result.diagnostics
    .map((diagnostic) => ({ ...diagnostic, from: offsets.toUnit(diagnostic.start ?? 0), to: offsets.toUnit(diagnostic.end ?? diagnostic.start ?? 0) }))
    .sort((left, right) => left.from - right.from || left.to - right.to)
}

/** Applies edits whose offsets count bytes. */
export function applyEdits(text: string, edits: { start: number; end: number; text: string }[]): string {
  const offsets = new ByteOffsets(text)
  let edited = text
  for (const edit of [...edits].sort((left, right) => right.start - left.start)) {
    edited = edited.slice(0, offsets.toUnit(edit.start)) + edit.text + edited.slice(offsets.toUnit(edit.end))
  }
  return edited
}
