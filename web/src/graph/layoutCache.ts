import type { Placement } from './elkInput.ts'

// Placements by program, kept in the browser: a run opens with its graph in place.
const DATABASE = 'branchpoint-layouts'
const STORE = 'layouts'
const MOST = 200
// Raised when sizes or options of the layout change.
const VERSION = 3

let database: Promise<IDBDatabase | null> | null = null

function open(): Promise<IDBDatabase | null> {
  database ??= new Promise((resolve) => {
    if (typeof indexedDB === 'undefined') return resolve(null)
    const request = indexedDB.open(DATABASE, VERSION)
    request.onupgradeneeded = () => {
      for (const name of [...request.result.objectStoreNames]) request.result.deleteObjectStore(name)
      request.result.createObjectStore(STORE)
    }
    request.onsuccess = () => resolve(request.result)
    // Private windows and full disks have no cache; the layout is computed again.
    request.onerror = () => resolve(null)
    request.onblocked = () => resolve(null)
  })
  return database
}

export async function loadLayout(key: string): Promise<Placement | undefined> {
  const store = (await open())?.transaction(STORE).objectStore(STORE)
  if (!store) return undefined
  return new Promise((resolve) => {
    const request = store.get(key)
    request.onsuccess = () => resolve(request.result as Placement | undefined)
    request.onerror = () => resolve(undefined)
  })
}

export function saveLayout(key: string, placement: Placement): void {
  void open().then((opened) => {
    const store = opened?.transaction(STORE, 'readwrite').objectStore(STORE)
    if (!store) return
    const count = store.count()
    count.onsuccess = () => {
      if (count.result >= MOST) store.clear()
      store.put(placement, key)
    }
  })
}
