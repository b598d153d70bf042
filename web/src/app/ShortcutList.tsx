import { Dialog } from '../ui/Dialog.tsx'
import { useAllShortcuts } from '../ui/shortcuts.ts'

export default function ShortcutList({ onClose }: { onClose: () => void }) {
  const shortcuts = useAllShortcuts().filter((shortcut) => !shortcut.hidden)
  return (
    <Dialog open onClose={onClose} title="Shortcuts on this page" width={560}>
      <dl className="shortcut-list">
        {shortcuts.map((shortcut, index) => (
          <div key={index} className="row">
            <dt className="grow soft">{shortcut.label}</dt>
            <dd>{shortcut.keys.split(/[ +]/).map((key, part) => <kbd key={part}>{keyName(key)}</kbd>)}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

function keyName(key: string): string {
  const names: Record<string, string> = { ArrowLeft: '←', ArrowRight: '→', ArrowUp: '↑', ArrowDown: '↓', Escape: 'Esc' }
  return names[key] ?? (key.length === 1 ? key.toUpperCase() : key)
}
