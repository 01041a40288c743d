import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from './api.ts'
import type { Resource } from './use-resource.ts'

/** A section with a heading. */
export function Panel({
  title,
  children,
  aside,
}: {
  title: string
  children: ComponentChildren
  aside?: ComponentChildren
}) {
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  )
}

/** A figure with its name. */
export function Figure({ name, value, note }: { name: string; value: string; note?: string | undefined }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        {value}
        {note ? <small>{note}</small> : null}
      </dd>
    </div>
  )
}

export type Cell = ComponentChildren

/** A table with a caption for screen readers; without rows it is replaced by `empty`. */
export function Table({
  caption,
  head,
  rows,
  empty,
}: {
  caption: string
  head: readonly string[]
  rows: readonly (readonly Cell[])[]
  empty: string
}) {
  if (rows.length === 0) return <p class="empty">{empty}</p>
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {head.map((name, column) => (
              <th key={column} scope="col" class={typeof rows[0]![column] === 'number' ? 'number' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} class={typeof cell === 'number' ? 'number' : undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The value of a resource, a loading text, or the error. */
export function Known<T>({ of, children }: { of: Resource<T>; children: (value: T) => ComponentChildren }) {
  return (
    <>
      {of.error ? <ErrorNotice error={of.error} stale={of.value !== null} /> : null}
      {of.value !== null ? children(of.value) : of.error ? null : <p class="empty">Loading …</p>}
    </>
  )
}

function ErrorNotice({ error, stale }: { error: Error; stale: boolean }) {
  return (
    <p class="error-notice" role="alert">
      {error.message} {stale ? 'The values below may be out of date.' : null}
    </p>
  )
}

/**
 * A button for a request to the daemon. It shows the progress and then the response beside it. It is never disabled, because a disabled
 * button loses the focus.
 */
export function Act({
  label,
  busy,
  act,
  kind,
  disabled,
}: {
  label: string
  busy?: string
  act: () => Promise<string>
  kind?: 'danger' | 'plain'
  disabled?: boolean
}) {
  const [state, setState] = useState<{ kind: 'idle' | 'busy' | 'done' | 'failed'; text: string }>({
    kind: 'idle',
    text: '',
  })
  const run = async () => {
    if (state.kind === 'busy') return
    setState({ kind: 'busy', text: '' })
    try {
      setState({ kind: 'done', text: await act() })
    } catch (error) {
      setState({
        kind: 'failed',
        text:
          error instanceof ApiError && error.status === 403
            ? 'This client has read-only access.'
            : (error as Error).message,
      })
    }
  }
  return (
    <span class="act">
      <button
        type="button"
        class={kind ?? 'plain'}
        disabled={disabled === true}
        aria-disabled={state.kind === 'busy'}
        onClick={run}
      >
        {state.kind === 'busy' ? (busy ?? label) : label}
      </button>
      <span role="status" class={state.kind === 'failed' ? 'said failed' : 'said'}>
        {state.text}
      </span>
    </span>
  )
}

/** A button that asks for confirmation; the question names what would be lost. */
export function Confirm({ label, question, act }: { label: string; question: string; act: () => Promise<string> }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [said, setSaid] = useState('')
  const confirm = async () => {
    dialog.current?.close()
    setSaid('')
    try {
      setSaid(await act())
    } catch (error) {
      setSaid((error as Error).message)
    }
  }
  return (
    <span class="act">
      <button type="button" class="danger" onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <span role="status" class="said">
        {said}
      </span>
      <dialog ref={dialog} aria-label={label}>
        <p>{question}</p>
        <div class="row">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep as it is
          </button>
          <button type="button" class="danger" onClick={confirm}>
            {label}
          </button>
        </div>
      </dialog>
    </span>
  )
}

/** A labelled field. */
export function Field({
  label,
  value,
  set,
  type = 'text',
  list,
  width,
}: {
  label: string
  value: string
  set(value: string): void
  type?: 'text' | 'number' | 'date'
  list?: readonly string[]
  width?: 'wide'
}) {
  return (
    <label class={width}>
      <span>{label}</span>
      {list ? (
        <select value={value} onChange={(event) => set(event.currentTarget.value)}>
          {list.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...({ type } as { type: 'text' })}
          value={value}
          onInput={(event) => set(event.currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
        />
      )}
    </label>
  )
}

/** A debounced copy of a value, so that typing does not send a request for every letter. */
export function useRested<T>(value: T, milliseconds = 300): T {
  const [rested, setRested] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), milliseconds)
    return () => clearTimeout(timer)
  }, [value, milliseconds])
  return rested
}
