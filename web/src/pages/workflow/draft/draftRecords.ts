/** A draft as it is kept in the browser, for one workflow and the version it is based on. */
export interface DraftRecord {
  name: string
  baseVersion: number
  baseHash: string
  text: string
  editedAt: number
  errors: number
  warnings: number
}

/** Where drafts are kept. */
export interface DraftRecords {
  all: () => Promise<DraftRecord[]>
  put: (record: DraftRecord) => Promise<void>
  remove: (name: string, baseVersion: number) => Promise<void>
}

const DATABASE = 'branchpoint'
const STORE = 'drafts'

function request<T>(made: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    made.onsuccess = () => resolve(made.result)
    made.onerror = () => reject(made.error ?? new Error('The browser rejected the request.'))
  })
}

let opened: Promise<IDBDatabase> | null = null

function database(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE, { keyPath: ['name', 'baseVersion'] })
    opening.onsuccess = () => resolve(opening.result)
    opening.onerror = () => reject(opening.error ?? new Error('The browser does not allow storage.'))
  })
  return opened
}

async function store(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  return (await database()).transaction(STORE, mode).objectStore(STORE)
}

/** Reports that a draft was written or removed in this tab. */
export const draftChanges = new EventTarget()

const changed = () => void draftChanges.dispatchEvent(new Event('change'))

/** Drafts in IndexedDB. */
export const browserDrafts: DraftRecords = {
  all: async () => request<DraftRecord[]>((await store('readonly')).getAll()),
  put: async (record) => {
    await request((await store('readwrite')).put(record))
    changed()
  },
  remove: async (name, baseVersion) => {
    await request((await store('readwrite')).delete([name, baseVersion]))
    changed()
  },
}

/** The draft to continue: one of the current version, else the one that was edited last. */
export function latestDraft(records: DraftRecord[], name: string, version: number): DraftRecord | null {
  const own = records.filter((record) => record.name === name).sort((left, right) => right.editedAt - left.editedAt)
  return own.find((record) => record.baseVersion === version) ?? own[0] ?? null
}
