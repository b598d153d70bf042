import { Dialog } from '../ui/Dialog.tsx'
import { useAllShortcuts } from '../ui/shortcuts.ts'

/** What every page has without registering it. */
const EVERYWHERE = [
  { keys: 'Ctrl+Enter', label: 'Confirm a dialog' },
  { keys: 'Escape', label: 'Close the topmost layer, then clear the selection' },
]

/** Every shortcut of the page. Single letters work outside of text fields, and can be turned off in the user menu. */
export default function ShortcutList({ onClose }: { onClose: () => void }) {
  const registered = useAllShortcuts().filter((shortcut) => !shortcut.hidden)
  // The innermost component comes first; a key that it takes over is listed once.
  const shortcuts = [...registered, ...EVERYWHERE].filter((shortcut, index, all) => all.findIndex((other) => other.keys === shortcut.keys) === index)
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
