import type { Draft } from './stage-draft.ts'

/**
 * Changes of a stage that are not saved yet. The browser's tab keeps them, so that another view, a reload, Back and a session that ends do
 * not lose them. They end with *Log out* and with the tab.
 */
export interface KeptDraft {
  draft: Draft
  /** What the stage had when the changes began. */
  base: Draft
  /** When the stage had been saved last at that time; null for a new one. */
  updatedAt: string | null
}

/** The `id` of a stage that was never saved. */
export const newStage = 'new'

const prefix = 'pagecache-draft'

export function readDraft(clientId: string, id: string): KeptDraft | null {
  const kept = sessionStorage.getItem(keyOf(clientId, id))
  return kept === null ? null : (JSON.parse(kept) as KeptDraft)
}

/** @param draft null: nothing is left to save */
export function keepDraft(clientId: string, id: string, draft: KeptDraft | null): void {
  if (draft === null) sessionStorage.removeItem(keyOf(clientId, id))
  else
    try {
      sessionStorage.setItem(keyOf(clientId, id), JSON.stringify(draft))
    } catch {
      // The storage of the tab is full: the changes last as long as the form.
    }
}

export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key)
}

/** Another client that logs in later must not find them. */
function keyOf(clientId: string, id: string): string {
  return `${prefix} ${clientId} ${id}`
}
