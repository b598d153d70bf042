import { Check, RefreshCw } from 'lucide-react'
import { retryNow } from '../live/connect.ts'
import { Button } from '../ui/Button.tsx'
import { useNow } from '../ui/clock.ts'
import { clockSeconds, plural } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import { type Connection, useConnection } from '../ui/online.ts'

/** The bar below the top bar: connection lost, reconnected, or a new build of the server. */
export function NetBar() {
  const connection = useConnection()
  if (connection.state === 'lost') return <Lost connection={connection} />
  if (connection.caughtUp !== null) {
    return (
      <div className="netbar ok" role="status">
        <Icon of={Check} />
        <span className="grow">Reconnected.{connection.caughtUp > 0 && ` Loaded ${plural(connection.caughtUp, 'missed event')}.`}</span>
      </div>
    )
  }
  if (connection.outdated) {
    return (
      <div className="netbar ok" role="status">
        <Icon of={RefreshCw} />
        <span className="grow">A new version is available.</span>
        <Button small onClick={() => location.reload()}>Reload</Button>
      </div>
    )
  }
  return null
}

function Lost({ connection }: { connection: Connection }) {
  useNow()
  const seconds = connection.retryAt === null ? 0 : Math.max(0, Math.ceil((connection.retryAt - Date.now()) / 1000))
  return (
    <div className="netbar" role="status">
      <span className="pulse" />
      <span className="grow">
        <b>Connection lost.</b> Data as of {clockSeconds(new Date(connection.dataAsOf))}. {seconds > 0 ? `Retrying in ${seconds} s.` : 'Retrying now.'}
      </span>
      <Button small onClick={retryNow}>Retry now</Button>
    </div>
  )
}
