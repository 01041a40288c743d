import { useMemo, useState } from 'preact/hooks'
import type { Stage } from './answers.ts'
import { useApi } from './api-context.ts'
import { keepDraft, newStage, readDraft, type KeptDraft } from './kept-drafts.ts'
import { toDraft, type Draft } from './stage-draft.ts'

/** The fields of a stage's form. Changes are kept until they are saved or discarded. */
export interface OpenDraft {
  draft: Draft
  /** The stage's settings when editing began. */
  base: Draft
  isChanged: boolean
  /** Whether the changes were restored from an earlier visit to the form. */
  isRestored: boolean
  /** Whether someone has saved the stage since editing began. */
  isOverwriting: boolean
  change(fields: Partial<Draft>): void
  /** Forgets the changes. */
  discard(): void
}

/** @param stage as currently saved; null for a new one */
export function useDraft(stage: Stage | null): OpenDraft {
  const { clientId } = useApi()
  const id = stage?.id ?? newStage
  const updatedAt = stage?.updatedAt ?? null
  const [kept, setKept] = useState(() => readDraft(clientId, id))
  const [isRestored, setRestored] = useState(kept !== null)
  // Without changes, the form follows the saved stage, which someone else may change.
  const saved = useMemo(() => toDraft(stage), [updatedAt])
  const { draft, base } = useMemo(() => complete(kept ?? { draft: saved, base: saved }, saved), [kept, saved])
  return {
    draft,
    base,
    isChanged: kept !== null,
    isRestored,
    isOverwriting: kept !== null && kept.updatedAt !== updatedAt,
    change: (fields) => {
      const next = { ...draft, ...fields }
      setRestored(false)
      const value = isSame(next, base) ? null : { draft: next, base, updatedAt: kept?.updatedAt ?? updatedAt }
      // Immediately: an effect would not run if the view is left at the same moment.
      keepDraft(clientId, id, value)
      setKept(value)
    },
    discard: () => {
      keepDraft(clientId, id, null)
      setKept(null)
      setRestored(false)
    },
  }
}

/** A draft kept by an earlier version of the page may lack fields. */
function complete({ draft, base }: Pick<KeptDraft, 'draft' | 'base'>, saved: Draft): { draft: Draft; base: Draft } {
  return { draft: { ...saved, ...draft }, base: { ...saved, ...base } }
}

function isSame(one: Draft, other: Draft): boolean {
  return (Object.keys(one) as (keyof Draft)[]).every((key) => one[key] === other[key])
}
