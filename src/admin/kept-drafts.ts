import type { Draft } from './stage-draft.ts'

/**
 * Unsaved changes of a stage. The browser tab keeps them, so they survive a change of view, a reload, Back and the end of the session.
 * *Log out* deletes them, and they end with the tab.
 */
export interface KeptDraft {
  draft: Draft
  /** The stage's settings when editing began. */
  base: Draft
  /** When the stage was last saved before that; null for a new one. */
  updatedAt: string | null
}

/** The `id` of a stage that has never been saved. */
export const newStage = 'new'

const prefix = 'pagecache-draft'

export function readDraft(clientId: string, id: string): KeptDraft | null {
  const kept = sessionStorage.getItem(keyOf(clientId, id))
  return kept === null ? null : (JSON.parse(kept) as KeptDraft)
}

/** @param draft null if nothing is unsaved */
export function keepDraft(clientId: string, id: string, draft: KeptDraft | null): void {
  if (draft === null) sessionStorage.removeItem(keyOf(clientId, id))
  else
    try {
      sessionStorage.setItem(keyOf(clientId, id), JSON.stringify(draft))
    } catch {
      // The tab's storage is full: the changes last only as long as the form.
    }
}

export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key)
}

/** Another client that logs in later must not find them. */
function keyOf(clientId: string, id: string): string {
  return `${prefix} ${clientId} ${id}`
}
