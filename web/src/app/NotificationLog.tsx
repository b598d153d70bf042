import { Dialog } from '../ui/Dialog.tsx'
import { useToastLog } from '../ui/toasts.tsx'
import { When } from '../ui/Values.tsx'

/** What toasts reported since the page was opened. */
export default function NotificationLog({ onClose }: { onClose: () => void }) {
  const log = useToastLog()
  return (
    <Dialog open onClose={onClose} title="Recent notifications">
      {log.length === 0 && <p className="soft">Nothing has been reported since this page was opened.</p>}
      {log.map((toast) => (
        <div key={toast.id} className="toast">
          {toast.icon}
          <span className="grow">{toast.text}</span>
          <span className="muted small"><When at={new Date(toast.at).toISOString()} /></span>
        </div>
      ))}
    </Dialog>
  )
}
