import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { useApi } from './api-context.ts'
import { report, useNotify } from './notices.tsx'

/**
 * A button for a request that changes something; a client that may not change anything does not see it. It is never disabled while it
 * works, because a disabled button loses the focus.
 */
export function Act({
  label,
  name,
  busy,
  act,
  kind = 'plain',
  disabled = false,
}: {
  label: string
  /** The accessible name, where several buttons have the same label. */
  name?: string
  busy?: string
  act: () => Promise<string>
  kind?: 'main' | 'plain'
  disabled?: boolean
}) {
  const notify = useNotify()
  const { canWrite } = useApi()
  const [isBusy, setBusy] = useState(false)
  const run = async () => {
    if (isBusy) return
    setBusy(true)
    await report(notify, act)
    setBusy(false)
  }
  if (!canWrite) return null
  return (
    <button type="button" class={kind} aria-label={name} disabled={disabled} aria-disabled={isBusy} onClick={run}>
      {isBusy ? (busy ?? label) : label}
    </button>
  )
}

/** A button that asks for confirmation. The dialog's title says what would be done and where, the question what would be lost. */
export function Confirm({
  label,
  name,
  title = label,
  question,
  act,
}: {
  label: string
  name?: string
  title?: string
  question: string
  act: () => Promise<string>
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const notify = useNotify()
  const { canWrite } = useApi()
  if (!canWrite) return null
  const confirm = async () => {
    dialog.current?.close()
    await report(notify, act)
  }
  return (
    <>
      <button type="button" class="danger" aria-label={name} onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={heading}>
        <h2 id={heading}>
          {title} at {location.host}?
        </h2>
        <p>{question}</p>
        <div class="row end">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep as it is
          </button>
          <button type="button" class="danger filled" onClick={confirm}>
            {label}
          </button>
        </div>
      </dialog>
    </>
  )
}

/** Fields with a button that Enter presses as well. */
export function Form({
  label,
  busy = label,
  submit,
  changes = false,
  children,
}: {
  label: string
  busy?: string
  /** Returns what to tell the operator; an empty text for nothing. */
  submit: () => Promise<string>
  /** Whether it changes something; a client that may not change anything does not see it. */
  changes?: boolean
  children: ComponentChildren
}) {
  const notify = useNotify()
  const { canWrite } = useApi()
  const [isBusy, setBusy] = useState(false)
  const run = async (event: Event) => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    await report(notify, submit)
    setBusy(false)
  }
  if (changes && !canWrite) return null
  return (
    <form class="row" onSubmit={run}>
      {children}
      <button type="submit" class="main" aria-disabled={isBusy}>
        {isBusy ? busy : label}
      </button>
    </form>
  )
}

/** A section for what cannot be undone. */
export function DangerZone({ children }: { children: ComponentChildren }) {
  if (!useApi().canWrite) return null
  return (
    <section class="panel danger-zone">
      <h2>Danger zone</h2>
      {children}
    </section>
  )
}

/** What a danger is, beside its button. */
export function Danger({ what, children }: { what: string; children: ComponentChildren }) {
  return (
    <div class="danger-row">
      <p>{what}</p>
      <div class="row">{children}</div>
    </div>
  )
}
