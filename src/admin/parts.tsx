import type { ComponentChildren, RefObject } from 'preact'
import type { Channel } from './urls.ts'
import { formatTime } from './format.ts'
import type { Resource } from './use-resource.ts'

/** A section with a heading. */
export function Panel({
  title,
  children,
  aside,
  place,
}: {
  title: string
  children: ComponentChildren
  aside?: ComponentChildren
  /** Receives the element, to focus it. */
  place?: RefObject<HTMLElement | null>
}) {
  return (
    <section class="panel" ref={place ?? null} tabIndex={place ? -1 : undefined}>
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

/** A time of the API; the zone is named in the page's head. */
export function Time({ at }: { at: string | number | null }) {
  if (at === null) return <>–</>
  return <time dateTime={new Date(at).toISOString()}>{formatTime(at)}</time>
}

/** The value of a resource, a loading text, or the error. */
export function Known<T>({ of, children }: { of: Resource<T>; children: (value: T) => ComponentChildren }) {
  return (
    <>
      {of.error ? <ErrorNotice error={of.error} stale={of.value !== null} /> : null}
      {of.value !== null ? (
        <div class={of.isOld ? 'old' : undefined} aria-busy={of.isOld}>
          {children(of.value)}
        </div>
      ) : of.error ? null : (
        <p class="loading" aria-busy="true">
          Loading …
        </p>
      )}
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

type Choice = string | { value: string; name: string }

/** A labelled field. */
export function Field({
  label,
  value,
  set,
  type = 'text',
  list,
  width,
  placeholder,
}: {
  label: string
  value: string
  set(value: string): void
  type?: 'text' | 'number' | 'date' | 'search'
  list?: readonly Choice[]
  width?: 'wide'
  placeholder?: string
}) {
  return (
    <label class={width}>
      <span>{label}</span>
      {list ? (
        <select value={value} onChange={(event) => set(event.currentTarget.value)}>
          {list.map((choice) => {
            const option = typeof choice === 'string' ? { value: choice, name: choice } : choice
            return (
              <option key={option.value} value={option.value}>
                {option.name}
              </option>
            )
          })}
        </select>
      ) : (
        <input
          {...({ type } as { type: 'text' })}
          value={value}
          placeholder={placeholder}
          onInput={(event) => set(event.currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
        />
      )}
    </label>
  )
}

/** A field that chooses a sales channel; nothing where there is no choice. The value of all channels is empty. */
export function ChannelField({
  channels,
  value,
  set,
}: {
  channels: readonly Channel[]
  value: string
  set(id: string): void
}) {
  if (channels.length < 2) return null
  const list = [
    { value: '', name: 'All channels' },
    ...channels.map((channel) => ({ value: channel.id, name: `${channel.name} (${channel.url})` })),
  ]
  return <Field label="Sales channel" value={value} set={set} list={list} />
}

/** One of a few alternatives, all visible. */
export function Choices<T extends string>({
  label,
  of,
  value,
  set,
}: {
  label: string
  of: readonly T[]
  value: NoInfer<T>
  set(value: NoInfer<T>): void
}) {
  return (
    <span class="choices" role="group" aria-label={label}>
      {of.map((each) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => set(each)}>
          {each}
        </button>
      ))}
    </span>
  )
}
