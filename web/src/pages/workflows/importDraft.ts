/** A document that was dropped or pasted, on its way to the import dialog. */
export interface ImportedDraft {
  name: string
  text: string
}

let draft: ImportedDraft | null = null

export function setDraftToImport(next: ImportedDraft | null): void {
  draft = next
}

export function draftToImport(): ImportedDraft | null {
  return draft
}
