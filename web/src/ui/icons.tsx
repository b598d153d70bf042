import {
  ArrowRight, Bell, BookOpen, Bot, Brain, Check, Clock, Code, Flag, Gauge, Globe, Layers, List, Mail, Merge, MessageSquareText, Monitor, Play, Repeat,
  Sparkles, Split, Square, Terminal, Timer, Type, UserRoundCheck, Workflow, Wrench, X,
} from 'lucide-react'
import type { ComponentType } from 'react'
import type { NodeShape } from '../api/types.ts'

export type IconComponent = ComponentType<{ size?: number | string; strokeWidth?: number | string; className?: string; 'aria-hidden'?: boolean }>

/** An icon from the set, in the size and weight of the design. Decorative: the label is on the control. */
export function Icon({ of: Drawn, size = 16 }: { of: IconComponent; size?: number }) {
  return <Drawn className="i" size={size} strokeWidth={1.9} aria-hidden />
}

export function Logo({ size = 20 }: { size?: number }) {
  return (
    <svg className="i" viewBox="0 0 20 20" fill="none" width={size} height={size} aria-hidden>
      <path d="M10 18.5v-6" stroke="currentColor" strokeWidth="2.25" strokeLinecap="round" />
      <path d="M10 12.5C10 8.5 4.5 8.6 4.5 4" stroke="currentColor" strokeWidth="2.25" strokeLinecap="round" />
      <path d="M11 10.6c1.5-1.5 4.3-2.4 4.5-6.4" stroke="currentColor" strokeWidth="2.25" strokeLinecap="round" strokeDasharray="0.1 3.6" opacity=".75" />
      <circle cx="4.5" cy="3" r="2.25" fill="var(--accent)" />
    </svg>
  )
}

export const GateIcon: IconComponent = ({ size = 16 }) => (
  <svg className="i" viewBox="0 0 24 24" fill="none" width={size} height={size} aria-hidden>
    <path d="M5 4v16M19 4v16M5 9h14M5 15h14" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
  </svg>
)

const BY_KIND: [RegExp, IconComponent][] = [
  [/gate/, GateIcon],
  [/merge|join/, Merge],
  [/human|approval|confirm|hitl/, UserRoundCheck],
  [/for_each|loop|while|until|repeat|map/, Repeat],
  [/mail|email/, Mail],
  [/http|fetch|webhook|web_search|search|scrape/, Globe],
  [/retriev|knowledge|memory/, BookOpen],
  [/evaluate|score|rate/, Gauge],
  [/workflow|subflow|call_/, Workflow],
  [/display|show|output/, Monitor],
  [/agent|subagent|llm_agent/, Bot],
  [/prompt|llm|model|chat|message/, MessageSquareText],
  [/command|shell|exec|run/, Terminal],
  [/wait|sleep|delay|timer|schedule/, Clock],
  [/code|script|transform|set|assign|variable/, Code],
  [/text|template|format/, Type],
  [/tool|action/, Wrench],
  [/think|reflect|plan/, Brain],
  [/extract|classif|generate/, Sparkles],
  [/parallel|group|sequence/, Layers],
  [/list/, List],
  [/notify/, Bell],
  [/timeout/, Timer],
]

/** The icon of a step: its shape first, then what its type is about. */
export function stepIcon(kind: string, shape?: NodeShape): IconComponent {
  if (/gate/.test(kind)) return GateIcon
  if (shape === 'decision') return Split
  if (shape === 'approval') return UserRoundCheck
  if (shape === 'loop') return Repeat
  if (shape === 'start') return Play
  if (shape === 'end') return Flag
  if (shape === 'subagent') return Bot
  return BY_KIND.find(([pattern]) => pattern.test(kind))?.[1] ?? Square
}

/** Types that decide between branches, where the drawing's shape is not at hand. */
export function isDecisionType(type: string): boolean {
  return /^(conditional|switch|if|if-else|router|gate|condition|branch|choice|route)$/.test(type)
}

const WHY_SHAPES = {
  true: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="m5.2 8.2 2 2 3.6-4.2" stroke="var(--surface)" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" />
    </>
  ),
  false: (
    <>
      <circle cx="8" cy="8" r="6.25" stroke="currentColor" strokeWidth="1.5" />
      <path d="m6 6 4 4m0-4-4 4" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />
    </>
  ),
  value: <path d="M4.5 6.3h7M4.5 9.7h7" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" />,
  none: <circle cx="8" cy="8" r="1.75" fill="currentColor" />,
  error: (
    <>
      <path d="M8 1.8 15 14H1z" fill="currentColor" stroke="currentColor" strokeWidth="1" strokeLinejoin="round" />
      <path d="M8 6.2v3.6M8 11.8v.2" stroke="var(--surface)" strokeWidth="1.6" strokeLinecap="round" />
    </>
  ),
}

export type WhyMarkKind = keyof typeof WHY_SHAPES

const WHY_LABEL: Record<WhyMarkKind, string> = { true: 'true', false: 'false', value: 'value', none: 'not evaluated', error: 'failed' }

export function WhyMark({ kind }: { kind: WhyMarkKind }) {
  return (
    <svg className={`i${kind === 'error' ? ' sev-error' : ''}`} viewBox="0 0 16 16" fill="none" role="img" aria-label={WHY_LABEL[kind]}>
      {WHY_SHAPES[kind]}
    </svg>
  )
}

export const icons = { ArrowRight, Check, X }
