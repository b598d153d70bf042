import type { NodeShape } from '../../../api/types.ts'
import { Icon, stepIcon } from '../../../ui/icons.tsx'

/** The tile of a step in menus and panels: a square for actions, a diamond for decisions, a circle for approvals. */
export function StepTile({ kind, shape }: { kind: string; shape: NodeShape }) {
  const look = shape === 'decision' ? ' dia2' : shape === 'approval' ? ' round' : ''
  return <span className={`tile sm${look}`} aria-hidden><Icon of={stepIcon(kind, shape)} size={shape === 'decision' ? 11 : 14} /></span>
}

/** The shape of a type that is not in the document yet. */
export function shapeOfGroup(group: string | null | undefined): NodeShape {
  if (group === 'Decisions') return 'decision'
  return group === 'People' ? 'approval' : 'action'
}
